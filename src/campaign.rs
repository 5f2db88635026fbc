//! One repair from end to end: project, baseline, samples, verdicts, record.
//!
//! Two threads share the work: this one draws samples, the other validates them. Every sample and every verdict is in
//! the run directory before anything else happens with it, so a run that is killed goes on where it was: the search
//! takes the same way again from what it learnt, and what has a verdict is not run again.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::bug::Lines;
use crate::build::BuildError;
use crate::cloze::Cloze;
use crate::config::flags::ContextMode;
use crate::config::{Config, Parts};
use crate::decode::memo::Memo;
use crate::decode::oracle::Oracle;
use crate::decode::search::Search;
use crate::decode::walk::Walks;
use crate::decode::{Counters, Sampler, Settings, StopReason};
use crate::digest::sha256;
use crate::engine::{self, EngineError, JdtEngine, ServerSettings};
use crate::java::project::Project;
use crate::model::{self, LoadOptions, Model, Prompt, PromptParts};
use crate::process::Interrupt;
use crate::record::{RecordError, RunDir, Shown, ShownChunk};
use crate::retrieval::Prior;
use crate::text::Source;
use crate::token::TokenId;
use crate::validate::sandbox::Sandbox;
use crate::validate::verdict::Outcome;
use crate::validate::{Baseline, ValidateSettings, Validator};

mod apply;
mod context;
mod drawing;
mod environment;
mod generated;
mod manifest;
mod parts;
mod pending;
pub mod plan;
mod samples;
pub mod subject;
mod task;
mod validation;

pub use apply::{Changed, apply};
use context::Surroundings;
use drawing::Drawing;
use environment::Environment;
use manifest::{Inputs, Manifest, Sources};
pub use manifest::{OtherProject, OtherRun};
use parts::{Part, parts};
pub use pending::validate;
pub use samples::Ranked;
use samples::Samples;
pub use subject::inspect_project;
use task::Summaries;
pub use task::{Figures, Interrupted, OutsideSources, Progress, SeveralHunks, Summary, Task, Unreadable};
use validation::{FromValidator, ToValidator, validate_all};

/// Start of the language server on a loaded machine, indexing included; 8 s on an idle one.
const SERVER_START: Duration = Duration::from_secs(90);
/// Starts of the language server before its silence is an error.
const SERVER_STARTS: usize = 3;
/// One question: some 5 ms on an idle machine, 2 s on a file of 20,000 methods.
const SERVER_REQUEST: Duration = Duration::from_secs(10);
/// Enough for the largest projects of Defects4J with their indices.
const SERVER_HEAP_MB: u32 = 1500;
/// Beginning of a scratch directory's name; the process id follows.
const SCRATCH_PREFIX: &str = "run-";
/// How long a wait for the validator sleeps before it looks at the interrupt.
const TICK: Duration = Duration::from_millis(100);

/// Repairs one bug.
pub fn repair(
    task: &Task,
    config: &Config,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Summary> {
    let started = Instant::now();
    let result =
        Repair::prepare(task, config, interrupt, progress).and_then(|repair| repair.run(started, progress));
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
        let [hunk] = task.hunks.as_slice() else { return Err(SeveralHunks(task.hunks.len()).into()) };
        let lines = hunk.lines;
        if !task.root.is_dir() {
            return Err(BuildError::NotADirectory(task.root.clone()).into());
        }
        let path = task.root.join(&hunk.file);
        let bytes = std::fs::read(&path).map_err(|source| Unreadable { file: path.clone(), source })?;
        let scratch = scratch_dir(&config.parts.cache)?;
        progress(Progress::Stage("project"));
        let project =
            subject::inspect(&task.root, task.benchmark.as_ref(), config, scratch.path(), interrupt)?;
        let file = relative(&path, &project)?;
        let source = Source::new(bytes, &project.encoding)?;
        let cloze = Cloze::new(source, lines).with_context(|| format!("`{hunk}`"))?;
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

    fn name(&self) -> &str {
        &self.task.name
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
        let scratch = self.scratch.path().join("validate");
        subject::validate_settings(
            self.task.benchmark.as_ref(),
            &self.config.parts,
            scratch,
            self.sandbox.clone(),
        )
    }

    fn sample(
        &self,
        started: Instant,
        to_validator: Sender<ToValidator>,
        from_validator: &Receiver<FromValidator>,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Summary> {
        progress(Progress::Stage("model"));
        let mut model = self.load_model(progress)?;
        progress(Progress::Stage("language server"));
        let mut engine = self.start_engine()?;
        progress(Progress::Stage("baseline"));
        let baseline = self.await_baseline(from_validator)?;
        progress(Progress::Baseline(&baseline));
        let surroundings = Surroundings::of(&self.project, &self.file, &self.cloze)?;
        let (prompt, chunks) = self.lay_out(model.as_ref(), &surroundings, &self.cloze)?;
        let prior = self.config.prior.then(|| surroundings.prior(model.as_ref()));
        let Cloze { prefix, original, suffix, .. } = &self.cloze;
        let shown = Shown::new(prefix, original, suffix, self.lines.first(), chunks);
        self.settle_manifest(model.as_ref(), &engine, &prompt)?;
        let samples = Samples::open(self.run.bug(self.name())?, &self.file, &self.cloze)?;
        self.run.write(&format!("{}/baseline.json", self.name()), &baseline)?;
        self.run.write(&format!("{}/shown.json", self.name()), &shown)?;

        let parts = parts(&self.cloze, self.config, model.as_ref());
        progress(Progress::Stage("samples"));
        let drawing = Drawing::new(self.config, samples, from_validator, progress);
        let mut stop = StopReason::Samples;
        for (number, part) in parts.iter().enumerate() {
            let Some(memo) = drawing.enter(number, part)? else { continue };
            self.open_hole(&mut engine, &part.cloze)?;
            let (prompt, _chunks) = self.lay_out(model.as_ref(), &surroundings, &part.cloze)?;
            let oracle = Oracle::new(&mut engine, self.config.guidance, &part.cloze);
            let ids = prompt.ids.as_slice();
            let settings =
                Settings { max_draws: part.max_draws, ..self.config.search.after(&drawing.spent()) };
            let mut search =
                self.sampler(model.as_mut(), oracle, (part, ids), settings, (prior.clone(), memo))?;
            stop = drawing.draw(search.as_mut(), part, &to_validator, self.interrupt)?;
            if !matches!(stop, StopReason::Samples | StopReason::Exhausted) {
                break;
            }
        }
        drop(to_validator);
        let counters = drawing.spent();
        let mut samples = drawing.finish(self.interrupt)?;
        let decisive = self.config.stop_after.and_then(|n| samples.nth_plausible(n));
        let stop = decisive.map_or(stop, |index| {
            samples.forget_after(index);
            StopReason::Plausible
        });
        let engine_counters = engine.counters();
        engine.shut_down();
        let summary = self.summary(started, stop, &samples, counters, engine_counters)?;
        self.run.write("summary.json", &Summaries { bugs: vec![&summary] })?;
        Ok(summary)
    }

    fn sampler<'s>(
        &self,
        model: &'s mut (dyn Model + Send),
        oracle: Oracle<'s>,
        (part, prompt): (&'s Part, &[TokenId]),
        settings: Settings,
        (prior, memo): (Option<Prior>, Memo),
    ) -> anyhow::Result<Box<dyn Sampler + 's>> {
        let (cloze, walks) = (&part.cloze, part.quota as u64);
        Ok(if self.config.with_replacement {
            Box::new(Walks::new(model, oracle, cloze, prompt, settings, prior, memo, walks)?)
        } else {
            Box::new(Search::new(model, oracle, cloze, prompt, settings, prior, memo)?)
        })
    }

    /// What the model sees of a hole, and the chunks in it.
    fn lay_out(
        &self,
        model: &dyn Model,
        surroundings: &Surroundings,
        cloze: &Cloze,
    ) -> anyhow::Result<(Prompt, Vec<ShownChunk>)> {
        let chunks = match self.config.context {
            ContextMode::File => Vec::new(),
            ContextMode::Retrieved => surroundings.chunks(cloze, model),
        };
        let prompt = model.prompt(&PromptParts {
            context: chunks.iter().map(|(citation, text)| (citation.as_str(), text.as_str())).collect(),
            prefix: &cloze.prefix,
            suffix: &cloze.suffix,
        })?;
        let seen = chunks.into_iter().filter(|(citation, _)| prompt.context.contains(citation));
        let seen = seen.map(|(citation, text)| ShownChunk { citation, text }).collect();
        Ok((prompt, seen))
    }

    fn load_model(&self, progress: &mut dyn FnMut(Progress)) -> anyhow::Result<Box<dyn Model + Send>> {
        let parts = &self.config.parts;
        let path =
            model::locate(&parts.model, &parts.hub, &mut |download| progress(Progress::Download(download)))?;
        let options = LoadOptions { threads: parts.threads, device: parts.device, ..LoadOptions::default() };
        Ok(model::load(&path, options)?)
    }

    fn start_engine(&self) -> anyhow::Result<JdtEngine> {
        let mut engine =
            start_server(&self.config.parts, &self.project, self.scratch.path(), self.interrupt)?;
        self.open_hole(&mut engine, &self.cloze)?;
        Ok(engine)
    }

    fn open_hole(&self, engine: &mut JdtEngine, cloze: &Cloze) -> Result<(), EngineError> {
        let file = self.project.root.join(&self.file);
        engine.open(&file, &cloze.prefix, &cloze.original, &cloze.suffix)
    }

    fn await_baseline(&self, from_validator: &Receiver<FromValidator>) -> anyhow::Result<Baseline> {
        loop {
            match from_validator.recv_timeout(TICK) {
                Ok(FromValidator::Baseline(baseline)) => {
                    let baseline = baseline?;
                    if let Some(benchmark) = &self.task.benchmark {
                        benchmark.require_recorded(&baseline)?;
                    }
                    return Ok(baseline);
                }
                Ok(FromValidator::Verdict { .. }) => unreachable!("the baseline comes first"),
                Err(RecvTimeoutError::Timeout) if !self.interrupt.is_set() => {}
                Err(_) => return Err(Interrupted(self.task.run_dir.clone()).into()),
            }
        }
    }

    fn settle_manifest(&self, model: &dyn Model, engine: &JdtEngine, prompt: &Prompt) -> anyhow::Result<()> {
        let inputs = Inputs::new(&Sources {
            file: &self.file,
            file_bytes: self.cloze.source().bytes(),
            lines: self.lines,
            tests: &self.task.tests,
            search: &self.config.search,
            guidance: self.config.guidance,
            with_replacement: self.config.with_replacement,
            context: self.config.context,
            prior: self.config.prior,
            templates: self.config.templates,
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
            environment: self.environment(),
        };
        manifest::settle(&self.run, "manifest.json", &manifest)
    }

    fn environment(&self) -> Environment {
        let java = engine::choose_java(&self.config.parts.server_javas).ok();
        let benchmark = self.task.benchmark.as_ref().map(|benchmark| benchmark.source.clone());
        let (jdk, validate) = (&self.project.jdk.home, self.validate_settings());
        Environment::of(self.config, &validate, benchmark, jdk, java.as_deref())
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
        let ranking = samples.ranking(self.run.root())?;
        Ok(Summary {
            bug: self.name().to_owned(),
            file: self.file.clone(),
            file_sha256: sha256(self.cloze.source().bytes()),
            lines: self.lines,
            tests: self.task.tests.clone(),
            seed: self.config.search.seed,
            stop,
            samples: samples.n_drawn(),
            judged: outcomes.len(),
            compilable,
            plausible: samples.n_plausible(),
            first_plausible: plausible.map(|&(index, _)| index).min(),
            best_diff: ranking.first().map(|best| best.diff.clone()),
            ranking,
            run_dir: self.run.root().to_owned(),
            seconds: started.elapsed().as_secs_f64(),
            search,
            engine,
        })
    }
}

/// Starts the language server with a project. Its state is kept in the cache for the next run; should that not do, below
/// `scratch`.
pub fn start_server(
    parts: &Parts,
    project: &Project,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<JdtEngine> {
    let java = engine::choose_java(&parts.server_javas)?;
    let settings = |attempt: usize| ServerSettings {
        java: java.clone(),
        jdtls_home: parts.jdtls_home.clone(),
        bundle: parts.bundle.clone(),
        state_dir: scratch.join(format!("server-{attempt}")),
        start_deadline: SERVER_START,
        request_deadline: SERVER_REQUEST,
        heap_mb: SERVER_HEAP_MB,
    };
    let mut start = JdtEngine::start_kept(settings(1), &parts.cache.join("servers"), project);
    for attempt in 2..=SERVER_STARTS {
        // A server that hangs in its index at the start has been seen; the next one does not.
        if interrupt.is_set() || !matches!(start, Err(EngineError::StartDeadline { .. })) {
            break;
        }
        start = JdtEngine::start(settings(attempt), project);
    }
    Ok(start?)
}

/// A directory of this process's own below the cache. Those of processes that were killed are removed first.
pub fn scratch_dir(cache: &Path) -> Result<tempfile::TempDir, RecordError> {
    let work = cache.join("work");
    let entries = std::fs::read_dir(&work).into_iter().flatten().flatten();
    for stale in entries.map(|entry| entry.path()).filter(|path| !is_in_use(path)) {
        // Another process may be removing it too.
        let _gone = std::fs::remove_dir_all(stale);
    }
    let prefix = format!("{SCRATCH_PREFIX}{}-", std::process::id());
    std::fs::create_dir_all(&work)
        .and_then(|()| tempfile::Builder::new().prefix(&prefix).tempdir_in(&work))
        .map_err(|source| RecordError::Io { action: "create", path: work, source })
}

/// Whether the process that made a scratch directory is still there; other things are left alone.
fn is_in_use(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pid = name.strip_prefix(SCRATCH_PREFIX).and_then(|rest| rest.split('-').next()).unwrap_or_default();
    !pid.bytes().all(|byte| byte.is_ascii_digit()) || pid.is_empty() || Path::new("/proc").join(pid).exists()
}

/// The file relative to the project's root, if it is a main source of it.
fn relative(path: &Path, project: &Project) -> anyhow::Result<PathBuf> {
    let outside = || OutsideSources {
        file: path.to_owned(),
        roots: project.sources.iter().map(|root| root.display().to_string()).collect(),
    };
    let path = path.canonicalize().map_err(|source| Unreadable { file: path.to_owned(), source })?;
    if !project.sources.iter().any(|root| path.starts_with(root)) {
        return Err(outside().into());
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_scratch_of_processes_that_are_gone_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let work = cache.path().join("work");
        // Process ids end at 4,194,304 on Linux.
        let names =
            [format!("run-{}-x", std::process::id()), "run-99999999-x".to_owned(), "other".to_owned()];
        for name in &names {
            std::fs::create_dir_all(work.join(name)).unwrap();
        }
        let own = scratch_dir(cache.path()).unwrap();
        assert_eq!(names.map(|name| work.join(name).exists()), [true, false, true]);
        assert!(own.path().starts_with(&work) && is_in_use(own.path()));
    }
}
