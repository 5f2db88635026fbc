//! The engine proper: one project, one open hole, the questions about it, and the restart of a server that died.
//!
//! What a new server must be told to give the same answers is kept here: the project, the hole's surroundings, the
//! baseline. A dead server is therefore invisible to the one who asks, but for the time and the counters.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::{Client, Silence};
use super::hole::{OpenHole, braces};
use super::kept::Kept;
use super::server::{self, ServerSettings};
use super::times::Times;
use super::wire::{
    Answered, CheckArgs, CloseArgs, Command, CompileArgs, CompleteArgs, OpenArgs, OpenReply, ProblemsReply,
    ProjectArgs, ProjectReply, Verdict, VisibleArgs, WireProblem,
};
use super::{Answer, Check, CompletionEngine, EngineError, HolePlace, Scope, Unknown};
use crate::java::project::Project;

/// New servers for one question, before it is given up.
const RESTARTS_PER_QUESTION: u32 = 3;
/// New servers one after the other, before no more are tried. One more for every so many answers.
const RESTARTS_IN_A_ROW: u32 = 20;
const ANSWERS_FOR_A_RESTART: u64 = 200;
/// Times that one question may keep a server mute, before it is given up.
const MUTE_PER_QUESTION: u32 = 2;
/// The bundle's name of the one hole that is open.
const SESSION: &str = "hole";
/// A name that is never opened: closing it does nothing.
const NOBODY: &str = "nobody";

/// What the engine did so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Questions by command, repeated ones after a restart included.
    pub questions: BTreeMap<Command, u64>,
    /// Time spent waiting for their answers, in seconds.
    pub seconds: f64,
    /// Lists given.
    pub lists: u64,
    /// Answers without a list or check, by reason.
    pub unknowns: BTreeMap<String, u64>,
    /// Servers started in place of a dead or mute one.
    pub restarts: u32,
}

/// A JDT language server with one project and at most one open hole.
#[derive(Debug)]
pub struct JdtEngine {
    settings: ServerSettings,
    project: ProjectArgs,
    client: Option<Client>,
    hole: Option<OpenHole>,
    counters: Counters,
    times: BTreeMap<Command, Times>,
    server_version: String,
    /// The state directory, if it outlives this engine.
    _kept: Option<Kept>,
}

impl JdtEngine {
    /// Starts a server, makes the project in it and waits until it is indexed.
    pub fn start(settings: ServerSettings, project: &Project) -> Result<Self, EngineError> {
        server::inspect(&settings)?;
        Self::start_in(settings, project_args(project), None)
    }

    /// As `start`, in a state directory below `store` that is kept for the next server with the same parts: that one
    /// finds its caches and its index. `settings.state_dir` is not used.
    pub fn start_kept(
        mut settings: ServerSettings,
        store: &Path,
        project: &Project,
    ) -> Result<Self, EngineError> {
        server::inspect(&settings)?;
        let project = project_args(project);
        let kept = Kept::take(store, &settings, &project)?;
        kept.dir().clone_into(&mut settings.state_dir);
        match ready_client(&settings, &project) {
            Ok(ready) => Ok(Self::with(settings, project, ready, Some(kept))),
            Err(EngineError::MissingParts { paths }) => Err(EngineError::MissingParts { paths }),
            // Whatever is wrong with the state that was left behind is not wrong with a fresh one.
            Err(_spoilt) => {
                kept.clear()?;
                Self::start_in(settings, project, Some(kept))
            }
        }
    }

    fn start_in(
        settings: ServerSettings,
        project: ProjectArgs,
        kept: Option<Kept>,
    ) -> Result<Self, EngineError> {
        let ready = ready_client(&settings, &project)?;
        Ok(Self::with(settings, project, ready, kept))
    }

    fn with(
        settings: ServerSettings,
        project: ProjectArgs,
        (client, server_version): (Client, String),
        kept: Option<Kept>,
    ) -> Self {
        Self {
            settings,
            project,
            client: Some(client),
            hole: None,
            counters: Counters::default(),
            times: BTreeMap::new(),
            server_version,
            _kept: kept,
        }
    }

    /// Opens the hole where `original` stands in `file`, whose text is `prefix + original + suffix`, and closes the one
    /// before. The errors that the file has with `original` are its baseline.
    pub fn open(
        &mut self,
        file: &Path,
        prefix: &str,
        original: &str,
        suffix: &str,
    ) -> Result<(), EngineError> {
        self.hole = None;
        let (closed, opened) = braces(prefix, original);
        let args = OpenArgs {
            session: SESSION,
            path: file.to_string_lossy().into_owned(),
            prefix: prefix.to_owned(),
            original: original.to_owned(),
            suffix: suffix.to_owned(),
            closed,
            opened,
        };
        let reply: OpenReply = self.ask(Command::Open, &args).map_err(EngineError::Unanswered)?;
        if !reply.found {
            return Err(EngineError::OutsideSources { file: file.to_owned() });
        }
        let place = if reply.body { HolePlace::Body } else { HolePlace::Other };
        self.hole = Some(OpenHole::new(args, place, reply.closable));
        let before = self.problems(original, false).map_err(EngineError::Unanswered)?;
        self.hole.as_mut().expect("it was opened above").set_baseline(&before);
        Ok(())
    }

    /// Compiles the file with `hole` filled in and, if there are no errors at all, writes its class files below
    /// `directory`.
    pub fn compile(&mut self, hole: &str, directory: &Path) -> Check {
        let directory = directory.to_string_lossy();
        let args = CompileArgs { session: SESSION, hole, directory: &directory };
        let reply = self.ask::<ProblemsReply>(Command::Compile, &args).map(|reply| reply.problems);
        self.news(hole, reply)
    }

    /// What was asked and answered so far.
    pub fn counters(&self) -> Counters {
        self.counters.clone()
    }

    /// How long answers took, by command.
    pub fn times(&self) -> &BTreeMap<Command, Times> {
        &self.times
    }

    /// Version of the server's Java core bundle.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Process id of the server that runs now; 0 between a death and the next question.
    pub fn server_pid(&self) -> u32 {
        self.client.as_ref().map_or(0, Client::pid)
    }

    /// Ends the server in an orderly way. Dropping the engine kills it.
    pub fn shut_down(mut self) {
        if let Some(client) = self.client.take() {
            client.shut_down();
        }
    }

    fn timeout_ms(&self) -> u32 {
        self.settings.request_deadline.as_millis().try_into().unwrap_or(u32::MAX)
    }

    fn answer(&mut self, reply: Result<Verdict, Unknown>) -> Answer {
        let unknown = match reply {
            Ok(Verdict::List { names }) => {
                self.counters.lists += 1;
                return Answer::List(names);
            }
            Ok(Verdict::Unknown { reason }) => Unknown::Position(reason),
            Ok(Verdict::Late) => Unknown::Deadline,
            Err(unknown) => unknown,
        };
        Answer::Unknown(self.note(unknown))
    }

    fn problems(&mut self, hole: &str, recover: bool) -> Result<Vec<WireProblem>, Unknown> {
        let args = CheckArgs { session: SESSION, hole, recover };
        self.ask::<ProblemsReply>(Command::Check, &args).map(|reply| reply.problems)
    }

    /// Turns a compile reply into the errors that the baseline does not have.
    fn news(&mut self, text: &str, reply: Result<Vec<WireProblem>, Unknown>) -> Check {
        match (reply, &self.hole) {
            (Ok(problems), Some(hole)) => Check::Problems(hole.subtract_baseline(text, problems)),
            (Ok(_), None) => Check::Unknown(self.note(no_hole())),
            (Err(unknown), _) => Check::Unknown(self.note(unknown)),
        }
    }

    fn note(&mut self, unknown: Unknown) -> Unknown {
        *self.counters.unknowns.entry(unknown.reason().to_owned()).or_default() += 1;
        unknown
    }

    /// Puts one question to the server; to a new one if it dies over it.
    fn ask<R: DeserializeOwned>(&mut self, command: Command, args: &impl Serialize) -> Result<R, Unknown> {
        let args = serde_json::to_value(args).expect("arguments are plain data");
        let started = Instant::now();
        let mut answer = Err(Silence::Ended);
        let mut mute = 0;
        for _ in 0..=RESTARTS_PER_QUESTION {
            answer = match self.revive() {
                Ok(()) => self.put(command, args.clone()),
                Err(error) => Err(Silence::Refused(error.to_string())),
            };
            mute += u32::from(matches!(answer, Err(Silence::Mute)));
            if self.client.is_some() || mute == MUTE_PER_QUESTION {
                break;
            }
        }
        let elapsed = started.elapsed();
        self.counters.seconds += elapsed.as_secs_f64();
        match answer {
            Ok(value) => {
                let answered: Answered<R> =
                    serde_json::from_value(value).map_err(|error| Unknown::Failed(error.to_string()))?;
                self.times.entry(command).or_default().record(elapsed, answered.cpu_micros);
                Ok(answered.value)
            }
            Err(Silence::Late | Silence::Mute) => Err(Unknown::Deadline),
            Err(Silence::Refused(message)) => Err(Unknown::Failed(message)),
            Err(Silence::Ended) => {
                Err(Unknown::Failed("the language server died of it again and again".to_owned()))
            }
        }
    }

    /// Puts a question to the server that runs now, and gives up the server if it is not going to answer another one.
    fn put(&mut self, command: Command, args: serde_json::Value) -> Result<serde_json::Value, Silence> {
        *self.counters.questions.entry(command).or_default() += 1;
        let client = self.client.as_ref().ok_or(Silence::Ended)?;
        let answer = client.command(command, args, self.deadline(command));
        if matches!(answer, Err(Silence::Ended | Silence::Mute)) {
            self.client = None;
        }
        answer
    }

    /// Opening compiles a file for the first time, which a new server is slow at.
    fn deadline(&self, command: Command) -> std::time::Duration {
        match command {
            Command::Open | Command::Project => self.settings.start_deadline,
            _question => self.settings.request_deadline,
        }
    }

    /// Starts a new server with the same project and hole if there is none.
    fn revive(&mut self) -> Result<(), EngineError> {
        if self.client.is_some() {
            return Ok(());
        }
        let earned = self.counters.questions.values().sum::<u64>() / ANSWERS_FOR_A_RESTART;
        if u64::from(self.counters.restarts) >= u64::from(RESTARTS_IN_A_ROW) + earned {
            return Err(EngineError::TooManyRestarts { limit: self.counters.restarts });
        }
        self.counters.restarts += 1;
        let (client, _same_version) = ready_client(&self.settings, &self.project)?;
        if let Some(hole) = &self.hole {
            let args = serde_json::to_value(&hole.args).expect("arguments are plain data");
            if let Err(silence) = client.command(Command::Open, args, self.settings.start_deadline) {
                return Err(client.fate(silence, &self.settings));
            }
        }
        self.client = Some(client);
        Ok(())
    }
}

impl CompletionEngine for JdtEngine {
    fn place(&self) -> HolePlace {
        self.hole.as_ref().map_or(HolePlace::Other, |hole| hole.place)
    }

    fn closable(&self) -> usize {
        self.hole.as_ref().map_or(0, |hole| hole.closable)
    }

    fn visible(&mut self, scope: Scope, first: Option<char>) -> Answer {
        if self.hole.is_none() {
            return Answer::Unknown(self.note(no_hole()));
        }
        let first = first.map(String::from).unwrap_or_default();
        let args = VisibleArgs { session: SESSION, scope, first, timeout_ms: self.timeout_ms() };
        let reply = self.ask(Command::Visible, &args);
        self.answer(reply)
    }

    fn complete(&mut self, hole: &str, scope: Scope) -> Answer {
        if self.hole.is_none() {
            return Answer::Unknown(self.note(no_hole()));
        }
        let args = CompleteArgs { session: SESSION, hole, scope, timeout_ms: self.timeout_ms() };
        let reply = self.ask(Command::Complete, &args);
        self.answer(reply)
    }

    fn check(&mut self, hole: &str, recover: bool) -> Check {
        if self.hole.is_none() {
            return Check::Unknown(self.note(no_hole()));
        }
        let reply = self.problems(hole, recover);
        self.news(hole, reply)
    }
}

fn no_hole() -> Unknown {
    Unknown::Failed("no hole is open".to_owned())
}

fn project_args(project: &Project) -> ProjectArgs {
    let texts = |paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    ProjectArgs {
        sources: texts(&project.sources),
        tests: texts(&project.tests),
        libs: texts(&project.class_path),
        jre: project.jdk.home.to_string_lossy().into_owned(),
        level: project.level,
        encoding: project.encoding.clone(),
    }
}

/// A server with the project made and indexed, and its version.
fn ready_client(settings: &ServerSettings, project: &ProjectArgs) -> Result<(Client, String), EngineError> {
    let started = Instant::now();
    let client = Client::start(settings)?;
    let made = command(&client, Command::Project, project, settings, started);
    let reply: Answered<ProjectReply> = match made {
        Ok(value) => serde_json::from_value(value).map_err(|source| EngineError::Reply { source })?,
        Err(silence) => return Err(client.fate(silence, settings)),
    };
    let reply = reply.value;
    if !reply.missing.is_empty() {
        return Err(EngineError::MissingParts { paths: reply.missing });
    }
    // The server holds back the answer to the next command until its index is ready: the true sign of readiness.
    match command(&client, Command::Close, &CloseArgs { session: NOBODY }, settings, started) {
        Ok(_was_open) => Ok((client, reply.server)),
        Err(silence) => Err(client.fate(silence, settings)),
    }
}

/// One command of the start, within what is left of its deadline.
fn command(
    client: &Client,
    command: Command,
    args: &impl Serialize,
    settings: &ServerSettings,
    started: Instant,
) -> Result<serde_json::Value, Silence> {
    let args = serde_json::to_value(args).expect("arguments are plain data");
    client.command(command, args, settings.start_deadline.saturating_sub(started.elapsed()))
}
