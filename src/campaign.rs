//! One repair from end to end: project, baseline, samples, verdicts, record.
//!
//! Two threads share the work: this one draws samples, the other validates them. Every sample and every verdict is in
//! the run directory before anything else happens with it, so a run that is killed goes on where it was: the search
//! takes the same way again from what it learnt, and what has a verdict is not run again.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;

use crate::bug::{Lines, Location};
use crate::build::{self, Tools};
use crate::cloze::Cloze;
use crate::config::Config;
use crate::decode::oracle::Oracle;
use crate::decode::search::{Counters, Search};
use crate::decode::StopReason;
use crate::engine::{self, JdtEngine, ServerSettings};
use crate::java::project::Project;
use crate::java::test_id::TestId;
use crate::model::{self, LoadOptions, Model, PromptParts};
use crate::process::Interrupt;
use crate::record::{RecordError, RunDir, replace_file};
use crate::text::Source;
use crate::validate::sandbox::Sandbox;
use crate::validate::verdict::Outcome;
use crate::validate::{Baseline, ValidateSettings, Validator};

mod manifest;
mod samples;
mod validation;

pub use manifest::OtherRun;
use manifest::{Inputs, Manifest, Sources};
pub use samples::Ranked;
use samples::Samples;
use validation::{FromValidator, ToValidator, validate_all};

/// Start of the language server on a loaded machine, indexing included.
const SERVER_START: Duration = Duration::from_secs(180);
/// One question: some 5 ms on an idle machine, 2 s on a file of 20,000 methods.
const SERVER_REQUEST: Duration = Duration::from_secs(10);
/// Enough for the largest projects of Defects4J with their indices.
const SERVER_HEAP_MB: u32 = 1500;
/// How long a wait for the validator sleeps before it looks at the interrupt.
const TICK: Duration = Duration::from_millis(100);

/// What is to be repaired, and where the run is kept.
#[derive(Debug, Clone)]
pub struct Task {
    /// The project's root, absolute.
    pub root: PathBuf,
    /// The hunk's place.
    pub location: Location,
    /// Insert before the line instead of replacing it.
    pub insert: bool,
    /// Tests that show the bug.
    pub tests: Vec<TestId>,
    /// Where the run is kept.
    pub run_dir: PathBuf,
    /// Whether an earlier run in that directory is dropped.
    pub fresh: bool,
    /// Whether patched code runs without a sandbox.
    pub no_sandbox: bool,
}

/// What is going on, for whoever watches.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A new stage begins.
    Stage(&'a str),
    /// Something that the user should know.
    Note(String),
    /// The bug shows as it should.
    Baseline(&'a Baseline),
    /// Figures of the search and of validation.
    Figures(Figures),
    /// A plausible patch was found.
    Plausible {
        /// Which sample it is.
        index: usize,
    },
}

/// Figures that change while samples are drawn.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Samples wanted.
    pub wanted: usize,
    /// Samples drawn.
    pub drawn: usize,
    /// Samples with a verdict.
    pub judged: usize,
    /// Plausible ones.
    pub plausible: usize,
    /// Positions that the model computed.
    pub positions: u64,
    /// Continuations refused.
    pub refused: u64,
}

/// What came out.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Name of the bug: file and lines.
    pub bug: String,
    /// The file, relative to the project's root.
    pub file: PathBuf,
    /// SHA-256 of its bytes.
    pub file_sha256: String,
    /// The hole's lines.
    pub lines: Lines,
    /// Tests that show the bug.
    pub tests: Vec<TestId>,
    /// Seed of the search.
    pub seed: u64,
    /// Why no further sample was drawn.
    pub stop: StopReason,
    /// Samples drawn.
    pub samples: usize,
    /// Samples with a verdict.
    pub judged: usize,
    /// Samples that compile with the project.
    pub compilable: usize,
    /// Plausible patches.
    pub plausible: usize,
    /// The first plausible sample.
    pub first_plausible: Option<usize>,
    /// Plausible patches, best first.
    pub ranking: Vec<Ranked>,
    /// The run directory.
    pub run_dir: PathBuf,
    /// Seconds from start to end, of this process.
    pub seconds: f64,
    /// Figures of the search, of this process.
    pub search: Counters,
    /// Figures of the language server, of this process.
    pub engine: engine::Counters,
}

/// A file that belongs to no source root of the project.
#[derive(Debug, thiserror::Error)]
#[error("`{}` lies in no main source root of the project ({}): name the root with --source", .file.display(), .roots.join(", "))]
pub struct OutsideSources {
    /// The file.
    pub file: PathBuf,
    /// The roots.
    pub roots: Vec<String>,
}

/// A source file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{}`", .file.display())]
pub struct Unreadable {
    /// The file.
    pub file: PathBuf,
    /// What the system said.
    #[source]
    pub source: std::io::Error,
}

/// The user asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; the same command goes on with the run in `{}`", .0.display())]
pub struct Interrupted(pub PathBuf);

/// Repairs one bug.
pub fn repair(
    task: &Task,
    config: &Config,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Summary> {
    let started = Instant::now();
    let result = Repair::prepare(task, config, interrupt, progress).and_then(|repair| repair.run(started, progress));
    match result {
        Err(_) if interrupt.is_set() => Err(Interrupted(task.run_dir.clone()).into()),
        result => result,
    }
}

/// Everything that is known before a child of this run starts.
struct Repair<'a> {
    task: &'a Task,
    config: &'a Config,
    interrupt: &'a Interrupt,
    project: Project,
    /// Relative to the root.
    file: PathBuf,
    lines: Lines,
    cloze: Cloze,
    run: RunDir,
    sandbox: Sandbox,
    scratch: tempfile::TempDir,
}

impl<'a> Repair<'a> {
    fn prepare(
        task: &'a Task,
        config: &'a Config,
        interrupt: &'a Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Self> {
        let lines = task.location.lines(task.insert)?;
        let path = task.root.join(&task.location.file);
        let bytes = std::fs::read(&path).map_err(|source| Unreadable { file: path.clone(), source })?;
        let scratch = scratch_dir(&config.parts.cache)?;
        progress(Progress::Stage("project"));
        let project = inspect(task, config, scratch.path(), interrupt)?;
        let file = relative(&path, &project)?;
        let source = Source::new(bytes, &project.encoding)?;
        let cloze = Cloze::new(source, lines).with_context(|| format!("`{}`", task.location))?;
        let (sandbox, why_not) = sandbox(task, config, interrupt)?;
        if let Some(why) = why_not {
            progress(Progress::Note(format!("patched code runs under limits only: {why}")));
        }
        if task.fresh {
            drop_run(&task.run_dir)?;
        }
        let run = RunDir::open(&task.run_dir)?;
        Ok(Self { task, config, interrupt, project, file, lines, cloze, run, sandbox, scratch })
    }

    /// The bug's name: the file's and its lines.
    fn name(&self) -> String {
        bug_name(&self.task.location, self.task.insert)
    }

    fn run(&self, started: Instant, progress: &mut dyn FnMut(Progress)) -> anyhow::Result<Summary> {
        std::thread::scope(|scope| {
            let (to_validator, inbox) = channel();
            let (outbox, from_validator) = channel();
            let until_done = self.interrupt.child();
            let validator = Validator::new(&self.project, self.validate_settings(), until_done.clone());
            scope.spawn(move || validate_all(validator, &self.task.tests, &self.file, &inbox, &outbox));
            let result = self.sample(started, to_validator, &from_validator, progress);
            // Whatever the validator still has to do is of no use any more.
            until_done.set();
            result
        })
    }

    fn validate_settings(&self) -> ValidateSettings {
        let parts = &self.config.parts;
        let scratch = self.scratch.path().join("validate");
        ValidateSettings::new(scratch, parts.runner.clone(), parts.junit.clone(), self.sandbox.clone())
    }

    fn sample(
        &self,
        started: Instant,
        to_validator: Sender<ToValidator>,
        from_validator: &Receiver<FromValidator>,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Summary> {
        progress(Progress::Stage("model"));
        let mut model = self.load_model()?;
        progress(Progress::Stage("language server"));
        let mut engine = self.start_engine()?;
        progress(Progress::Stage("baseline"));
        let baseline = self.await_baseline(from_validator)?;
        progress(Progress::Baseline(&baseline));
        let prompt = model.prompt(&PromptParts {
            context: Vec::new(),
            prefix: &self.cloze.prefix,
            suffix: &self.cloze.suffix,
        })?;
        self.settle_manifest(model.as_ref(), &engine, &prompt)?;
        let (samples, memo) = Samples::open(self.run.bug(&self.name())?, &self.file, &self.cloze)?;

        let around = format!("{}\n{}", self.cloze.original, self.cloze.suffix);
        let oracle = Oracle::new(&mut engine, self.config.guidance, &around);
        progress(Progress::Stage("samples"));
        let search = Search::new(model.as_mut(), oracle, &self.cloze, &prompt.ids, self.config.search, memo)?;
        let drawing = Drawing {
            wanted: self.config.samples,
            stop_after: self.config.stop_after.unwrap_or(usize::MAX),
            state: RefCell::new(State { samples, judged: 0, broken: None, progress }),
            from_validator,
        };
        let (stop, counters) = drawing.draw(search, &to_validator, self.interrupt)?;
        drop(to_validator);
        let samples = drawing.finish(self.interrupt)?;
        let engine_counters = engine.counters();
        engine.shut_down();
        let summary = self.summary(started, stop, &samples, counters, engine_counters)?;
        self.run.write("summary.json", &summary)?;
        Ok(summary)
    }

    fn load_model(&self) -> anyhow::Result<Box<dyn Model + Send>> {
        let options = LoadOptions { threads: self.config.parts.threads, ..LoadOptions::default() };
        Ok(model::load(&self.config.parts.model, options)?)
    }

    fn start_engine(&self) -> anyhow::Result<JdtEngine> {
        let parts = &self.config.parts;
        let settings = |java: &Path| ServerSettings {
            java: java.to_owned(),
            jdtls_home: parts.jdtls_home.clone(),
            bundle: parts.bundle.clone(),
            state_dir: self.scratch.path().join("server"),
            start_deadline: SERVER_START,
            request_deadline: SERVER_REQUEST,
            heap_mb: SERVER_HEAP_MB,
        };
        let java = engine::choose_java(&parts.server_javas)?;
        let mut engine = JdtEngine::start(settings(&java), &self.project)?;
        let file = self.project.root.join(&self.file);
        engine.open(&file, &self.cloze.prefix, &self.cloze.original, &self.cloze.suffix)?;
        Ok(engine)
    }

    fn await_baseline(&self, from_validator: &Receiver<FromValidator>) -> anyhow::Result<Baseline> {
        loop {
            match from_validator.recv_timeout(TICK) {
                Ok(FromValidator::Baseline(baseline)) => return Ok(baseline?),
                Ok(FromValidator::Verdict { .. }) => unreachable!("the baseline comes first"),
                Err(RecvTimeoutError::Timeout) if !self.interrupt.is_set() => {}
                Err(_) => return Err(Interrupted(self.task.run_dir.clone()).into()),
            }
        }
    }

    fn settle_manifest(&self, model: &dyn Model, engine: &JdtEngine, prompt: &model::Prompt) -> anyhow::Result<()> {
        let inputs = Inputs::new(&Sources {
            file: &self.file,
            file_bytes: self.cloze.source().bytes(),
            lines: self.lines,
            tests: &self.task.tests,
            search: &self.config.search,
            guidance: self.config.guidance,
            context: self.config.context,
            model: model.identity(),
            bundle: &self.config.parts.bundle,
            project: &self.project,
            sandbox: format!("{:?}", self.sandbox),
        })?;
        let manifest = Manifest {
            inputs,
            model: model.identity().clone(),
            server: engine.server_version().to_owned(),
            project: self.project.root.clone(),
            build_tool: format!("{:?}", self.project.build_tool),
            jdk_home: self.project.jdk.home.clone(),
            operating_system: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            prompt: serde_json::to_value(prompt).expect("records are plain data"),
        };
        manifest::settle(&self.run, "manifest.json", &manifest)
    }

    fn summary(
        &self,
        started: Instant,
        stop: StopReason,
        samples: &Samples,
        search: Counters,
        engine: engine::Counters,
    ) -> anyhow::Result<Summary> {
        let outcomes: Vec<(usize, Outcome)> = samples.verdicts().collect();
        let compilable = outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Uncompilable).count();
        let plausible = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Plausible);
        Ok(Summary {
            bug: self.name(),
            file: self.file.clone(),
            file_sha256: manifest::sha256(self.cloze.source().bytes()),
            lines: self.lines,
            tests: self.task.tests.clone(),
            seed: self.config.search.seed,
            stop,
            samples: samples.n_drawn(),
            judged: outcomes.len(),
            compilable,
            plausible: samples.n_plausible(),
            first_plausible: plausible.map(|&(index, _)| index).min(),
            ranking: samples.ranking()?,
            run_dir: self.run.root().to_owned(),
            seconds: started.elapsed().as_secs_f64(),
            search,
            engine,
        })
    }
}

/// What both the search's watcher and the drawing loop change.
struct State<'a, 'p> {
    samples: Samples<'a>,
    judged: usize,
    /// The validator's tool broke.
    broken: Option<anyhow::Error>,
    progress: &'p mut dyn FnMut(Progress),
}

struct Drawing<'a, 'p> {
    wanted: usize,
    stop_after: usize,
    state: RefCell<State<'a, 'p>>,
    from_validator: &'p Receiver<FromValidator>,
}

impl<'a> Drawing<'a, '_> {
    /// Draws until enough samples or plausible patches are there, or nothing is left.
    fn draw(
        &self,
        mut search: Search,
        to_validator: &Sender<ToValidator>,
        interrupt: &Interrupt,
    ) -> anyhow::Result<(StopReason, Counters)> {
        let stop = loop {
            if self.state.borrow().samples.n_drawn() >= self.wanted {
                break StopReason::Samples;
            }
            let next = search.next(&mut |counters| {
                self.receive(counters);
                interrupt.is_set() || self.is_enough()
            });
            let mut state = self.state.borrow_mut();
            state.samples.learn(&search.take_events())?;
            match next? {
                Ok(sample) => {
                    let index = sample.index;
                    if let Some(text) = state.samples.add(sample)? {
                        // A validator that is gone has said why; that is looked at next.
                        let _gone = to_validator.send(ToValidator { index, text });
                    } else {
                        state.judged += 1;
                    }
                }
                Err(StopReason::Interrupted) if !interrupt.is_set() => break StopReason::Plausible,
                Err(stop) => break stop,
            }
        };
        if stop == StopReason::Interrupted {
            anyhow::bail!("interrupted");
        }
        Ok((stop, search.counters()))
    }

    fn is_enough(&self) -> bool {
        let state = self.state.borrow();
        state.broken.is_some() || state.samples.n_plausible() >= self.stop_after
    }

    /// Takes what the validator has ready, and shows the figures.
    fn receive(&self, counters: &Counters) {
        loop {
            match self.from_validator.try_recv() {
                Ok(message) => self.take(message),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let mut state = self.state.borrow_mut();
        let figures = Figures {
            wanted: self.wanted,
            drawn: state.samples.n_drawn(),
            judged: state.judged,
            plausible: state.samples.n_plausible(),
            positions: counters.positions,
            refused: counters.refused.values().map(|(count, _)| count).sum(),
        };
        (state.progress)(Progress::Figures(figures));
    }

    fn take(&self, message: FromValidator) {
        let mut state = self.state.borrow_mut();
        let FromValidator::Verdict { index, verdict } = message else { return };
        let result = verdict.map_err(anyhow::Error::from).and_then(|verdict| {
            let is_plausible = verdict.outcome == Outcome::Plausible;
            state.samples.judge(index, verdict)?;
            Ok(is_plausible)
        });
        match result {
            Ok(is_plausible) => {
                state.judged += 1;
                if is_plausible {
                    (state.progress)(Progress::Plausible { index });
                }
            }
            Err(error) => {
                state.broken.get_or_insert(error);
            }
        }
    }

    /// Waits for the verdicts that are still to come, unless enough is known.
    fn finish(self, interrupt: &Interrupt) -> anyhow::Result<Samples<'a>> {
        (self.state.borrow_mut().progress)(Progress::Stage("validation"));
        while !self.is_enough() {
            match self.from_validator.recv_timeout(TICK) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) if !interrupt.is_set() => {}
                Err(_) => break,
            }
            self.receive(&Counters::default());
        }
        let state = self.state.into_inner();
        match state.broken {
            Some(error) => Err(error),
            None if interrupt.is_set() => anyhow::bail!("interrupted"),
            None => Ok(state.samples),
        }
    }
}

/// The user's file is not what it was when the run began.
#[derive(Debug, thiserror::Error)]
#[error("`{}` has changed since the run began: the patch was not applied", .0.display())]
pub struct Changed(pub PathBuf);

/// Writes a plausible patch into the user's tree. Returns the file.
pub fn apply(task: &Task, summary: &Summary, patch: &Ranked) -> anyhow::Result<PathBuf> {
    let path = task.root.join(&summary.file);
    let unreadable = |source| Unreadable { file: path.clone(), source };
    let now = std::fs::read(&path).map_err(unreadable)?;
    if manifest::sha256(&now) != summary.file_sha256 {
        return Err(Changed(path).into());
    }
    let permissions = std::fs::metadata(&path).map_err(unreadable)?.permissions();
    replace_file(&path, &patch.patched)?;
    std::fs::set_permissions(&path, permissions)
        .map_err(|source| RecordError::Io { action: "write", path: path.clone(), source })?;
    Ok(path)
}

/// The bug's name: the file's and its lines.
pub fn bug_name(location: &Location, insert: bool) -> String {
    let stem = location.file.file_stem().unwrap_or_default().to_string_lossy();
    let last = if location.last == location.first { String::new() } else { format!("-{}", location.last) };
    format!("{stem}-{}{last}{}", location.first, if insert { "-insert" } else { "" })
}

fn scratch_dir(cache: &Path) -> Result<tempfile::TempDir, RecordError> {
    let work = cache.join("work");
    std::fs::create_dir_all(&work)
        .and_then(|()| tempfile::Builder::new().prefix("run-").tempdir_in(&work))
        .map_err(|source| RecordError::Io { action: "create", path: work, source })
}

fn inspect(task: &Task, config: &Config, scratch: &Path, interrupt: &Interrupt) -> anyhow::Result<Project> {
    let parts = &config.parts;
    let overrides = build::Overrides { jdk: parts.jdk.clone(), ..config.overrides.clone() };
    let tools = Tools {
        jdks: build::jdk::find_jdks(&parts.jdk_places, interrupt),
        mvn: parts.mvn.clone(),
        junit: parts.junit.clone(),
    };
    Ok(build::inspect(&task.root, &overrides, &tools, scratch, interrupt)?)
}

/// The file relative to the project's root, if it is a main source of it.
fn relative(path: &Path, project: &Project) -> anyhow::Result<PathBuf> {
    let outside = || OutsideSources {
        file: path.to_owned(),
        roots: project.sources.iter().map(|root| root.display().to_string()).collect(),
    };
    let path = path.canonicalize().map_err(|source| Unreadable { file: path.to_owned(), source })?;
    build::locate(project, &path).ok_or_else(outside)?;
    Ok(path.strip_prefix(&project.root).map_err(|_| outside())?.to_owned())
}

fn sandbox(task: &Task, config: &Config, interrupt: &Interrupt) -> anyhow::Result<(Sandbox, Option<String>)> {
    if task.no_sandbox {
        return Ok((Sandbox::Off, None));
    }
    Ok(Sandbox::detect(config.parts.bwrap.as_deref(), interrupt)?)
}

fn drop_run(dir: &Path) -> Result<(), RecordError> {
    let held = RunDir::open(dir)?;
    let io = |source| RecordError::Io { action: "remove", path: dir.to_owned(), source };
    std::fs::remove_dir_all(held.root()).map_err(io)
}
