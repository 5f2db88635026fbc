//! Studies of the completion engine on a real project: `cargo bench --profile dev --bench engine -- STUDY ..`.
//!
//! `start` is about the time until a server answers, with the state of an earlier one and without; `endurance` replays
//! the same holes twice, once undisturbed and once while servers are killed, frozen and made to talk nonsense; `javac`
//! has another compiler judge wrong fills.

#[path = "engine/javac.rs"]
mod javac;
#[path = "decoding/usage.rs"]
mod usage;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::{Parser, ValueEnum};
use repair::build::{self, Overrides, Tools};
use repair::config::flags::PartFlags;
use repair::config::{self, Environment};
use repair::decode::replay::{Figures, ReplaySettings, Spelling, replay};
use repair::engine::{self, JdtEngine, ServerSettings};
use repair::java::holes::chance;
use repair::java::project::{BuildTool, Project};
use repair::process::{Interrupt, Spec, resident_kib, run};

/// Bytes that are fed at a time.
const PIECE: usize = 4;

#[derive(Debug, Parser)]
struct Flags {
    #[arg(value_enum)]
    study: Study,
    /// Root of the sources.
    #[arg(long)]
    project: PathBuf,
    /// Jars that the sources need.
    #[arg(long, value_delimiter = ':')]
    classpath: Vec<PathBuf>,
    #[arg(long, default_value_t = 200)]
    holes: usize,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds between two faults.
    #[arg(long, default_value_t = 20)]
    every: u64,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Study {
    /// Seconds until a server answers: the first time, and with the state that an earlier one left
    Start,
    /// The same decisions with and without faults; memory
    Endurance,
    /// Wrong fills that javac refuses, by what the oracle made of them
    Javac,
}

/// Where the parts are, and the project.
struct Lab {
    settings: ServerSettings,
    project: Project,
    scratch: tempfile::TempDir,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let lab = Lab::open(&flags)?;
    match flags.study {
        Study::Start => lab.start(),
        Study::Endurance => lab.endurance(&flags),
        Study::Javac => lab.javac(&flags),
    }
}

impl Lab {
    fn open(flags: &Flags) -> anyhow::Result<Self> {
        let (scratch, interrupt) = (tempfile::tempdir()?, Interrupt::default());
        let parts = config::parts(&PartFlags::default(), &Environment::read())?;
        let jdks = build::jdk::find_jdks(&parts.jdk_places, &interrupt);
        let tools = Tools { jdks, mvn: None, junit: Vec::new() };
        let overrides = Overrides {
            build_tool: Some(BuildTool::Plain),
            class_path: flags.classpath.clone(),
            ..Overrides::default()
        };
        let settings = ServerSettings {
            java: engine::choose_java(&parts.server_javas)?,
            jdtls_home: parts.jdtls_home,
            bundle: parts.bundle,
            state_dir: scratch.path().join("server"),
            start_deadline: Duration::from_secs(300),
            request_deadline: Duration::from_secs(30),
            heap_mb: 1500,
        };
        let project = build::inspect(&flags.project, &overrides, &tools, scratch.path(), &interrupt)?;
        Ok(Self { settings, project, scratch })
    }

    fn start(&self) -> anyhow::Result<()> {
        let store = self.scratch.path().join("servers");
        println!("start | wall s | cpu s | end s");
        for name in ["first", "second", "third"] {
            let (started, cpu) = (Instant::now(), usage::cpu_seconds());
            let engine = JdtEngine::start_kept(self.settings.clone(), &store, &self.project)?;
            let (wall, cpu) = (started.elapsed().as_secs_f64(), usage::cpu_seconds() - cpu);
            let ending = Instant::now();
            engine.shut_down();
            println!("{name} | {wall:.1} | {cpu:.1} | {:.1}", ending.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn endurance(&self, flags: &Flags) -> anyhow::Result<()> {
        let undisturbed = decisions(&self.replay(flags, self.settings.clone(), None)?);
        let faults = Faults::new(self.scratch.path(), &self.settings.java, flags)?;
        let settings = ServerSettings { java: faults.java.clone(), ..self.settings.clone() };
        let disturbed = decisions(&self.replay(flags, settings, Some(&faults))?);
        println!("faults: {}", faults.given.load(Ordering::Relaxed));
        ensure!(undisturbed == disturbed, "the decisions differ:\n{undisturbed}\n{disturbed}");
        println!("the same decisions:\n{undisturbed}");
        Ok(())
    }

    fn javac(&self, flags: &Flags) -> anyhow::Result<()> {
        let figures = self.replay(flags, self.settings.clone(), None)?;
        let judged = javac::judge(&self.project, &figures.wrong, self.scratch.path())?;
        println!("wrong name | javac | oracle | n");
        for ((how, javac, caught), n) in judged {
            println!("{how:?} | {javac} | {caught:?} | {n}");
        }
        Ok(())
    }

    fn replay(
        &self,
        flags: &Flags,
        settings: ServerSettings,
        faults: Option<&Faults>,
    ) -> anyhow::Result<Figures> {
        let mut engine = JdtEngine::start(settings, &self.project)?;
        let pieces = |text: &str| Some(text.as_bytes().chunks(PIECE).map(<[u8]>::to_vec).collect());
        let spellings = [Spelling { spell: &pieces, structural_end: true }];
        let wanted = ReplaySettings { holes: flags.holes, seed: flags.seed, counter: true };
        let over = AtomicBool::new(false);
        let figures = std::thread::scope(|scope| {
            faults.inspect(|faults| drop(scope.spawn(|| faults.go_on(&over))));
            let figures = replay(&mut engine, &self.project, &spellings, wanted, &mut |figures| {
                if figures.n_holes() % 100 == 0 {
                    eprintln!("{} holes", figures.n_holes());
                }
                false
            });
            over.store(true, Ordering::Relaxed);
            figures
        })?;
        let counters = engine.counters();
        println!(
            "{} questions, {} restarts, unknown {:?}, server {} MiB, this process {:.0} MB (at most {:.0})",
            counters.questions.values().sum::<u64>(),
            counters.restarts,
            counters.unknowns,
            resident_kib(engine.server_pid()).unwrap_or_default() / 1024,
            usage::resident_mb(),
            usage::peak_mb(),
        );
        engine.shut_down();
        Ok(figures)
    }
}

/// What does not depend on time.
fn decisions(figures: &Figures) -> String {
    format!(
        "{} holes, {} tokens, {} refused; words {:?}; wrong fills {:?}, harmless {}, missed {:?}",
        figures.n_holes(),
        figures.n_tokens(),
        figures.false_prunes.len(),
        figures.words.decided,
        figures.caught,
        figures.harmless,
        figures.missed,
    )
}

/// A runtime whose output can be spoilt, and what is done to it.
struct Faults {
    java: PathBuf,
    /// While it is there, nonsense is put into the server's output.
    trigger: PathBuf,
    every: Duration,
    seed: u64,
    given: AtomicU64,
}

/// Passes its input on, and puts a line of nonsense in between when the file named by its argument is there.
const SPOIL: &str = "import os, sys
while True:
    data = os.read(0, 65536)
    if not data:
        break
    if os.path.exists(sys.argv[1]):
        os.remove(sys.argv[1])
        data = b'Content-Length: x\\r\\n\\r\\n{]' + data
    os.write(1, data)
";

impl Faults {
    fn new(scratch: &Path, java: &Path, flags: &Flags) -> anyhow::Result<Self> {
        let (script, wrapper, trigger) =
            (scratch.join("spoil.py"), scratch.join("java"), scratch.join("nonsense"));
        std::fs::write(&script, SPOIL)?;
        let probe = format!("[ \"$1\" = -XshowSettings:properties ] && exec {} \"$@\"", java.display());
        let piped = format!(
            "exec {} \"$@\" > >(exec python3 {} {})",
            java.display(),
            script.display(),
            trigger.display()
        );
        std::fs::write(&wrapper, format!("#!/bin/bash\n{probe}\n{piped}\n"))?;
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755))?;
        let every = Duration::from_secs(flags.every);
        Ok(Self { java: wrapper, trigger, every, seed: flags.seed, given: AtomicU64::new(0) })
    }

    /// Gives one fault after the other until it is `over`.
    fn go_on(&self, over: &AtomicBool) {
        let mut last = Instant::now();
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            if last.elapsed() < self.every {
                continue;
            }
            last = Instant::now();
            let number = self.given.fetch_add(1, Ordering::Relaxed);
            let done = match chance(self.seed, number) % 3 {
                0 => signal("-KILL"),
                1 => signal("-STOP"),
                _ => std::fs::write(&self.trigger, "").context("no trigger"),
            };
            if let Err(error) = done {
                eprintln!("fault {number}: {error:#}");
            }
        }
    }
}

/// Sends a signal to every server that this process runs.
fn signal(name: &str) -> anyhow::Result<()> {
    let (own, interrupt) = (std::process::id().to_string(), Interrupt::default());
    let spec = Spec::new("/usr/bin/pkill", "/", Duration::from_secs(10));
    run(&spec.args([name, "-P", &own, "java"]), &interrupt)?;
    Ok(())
}
