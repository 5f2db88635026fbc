//! The sole spawner of child processes.
//!
//! Every child gets its own process group, an explicit directory and environment, a closed stdin unless it is piped,
//! both outputs drained and capped, and a deadline; the whole group is terminated, then killed, and always reaped.
//! There is no fire-and-forget here.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// Time between TERM and KILL for a group.
const GRACE: Duration = Duration::from_secs(2);
/// Interval at which a waiting parent looks at the deadline and the interrupt flag.
const POLL: Duration = Duration::from_millis(5);
/// Bytes kept of each output when the caller sets no cap.
const DEFAULT_CAP: usize = 8 << 20;

/// Set once when the user asks to stop; every wait looks at it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    parent: Option<Arc<Interrupt>>,
}

impl Interrupt {
    /// Wraps a flag that a signal handler sets.
    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Self { flag, parent: None }
    }

    /// An interrupt that is set with this one, and can be set alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { flag: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }

    /// Whether the user asked to stop.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.parent.as_deref().is_some_and(Self::is_set)
    }

    /// Asks to stop.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// The program of util-linux that binds a child's life to its parent's before it becomes that child.
const BINDER: &str = "/usr/bin/setpriv";
/// Sets limits before it becomes the program that is run: its first child must not be quicker.
const LIMITER: &str = "/usr/bin/prlimit";

/// What to run.
#[derive(Debug, Clone)]
pub struct Spec {
    program: OsString,
    args: Vec<OsString>,
    dir: PathBuf,
    env: BTreeMap<OsString, OsString>,
    deadline: Duration,
    output_cap: usize,
    cpu_seconds: Option<u64>,
    file_bytes: Option<u64>,
    bound: bool,
}

impl Spec {
    /// A child of `program` that works in `dir` and may take `deadline`. Its environment is empty but for what
    /// [`Spec::env`] and [`Spec::inherit`] add.
    pub fn new(program: impl AsRef<OsStr>, dir: impl Into<PathBuf>, deadline: Duration) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            dir: dir.into(),
            env: BTreeMap::new(),
            deadline,
            output_cap: DEFAULT_CAP,
            cpu_seconds: None,
            file_bytes: None,
            bound: false,
        }
    }

    /// Appends one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Appends arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets one variable of the child's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Hands down the named variables of our own environment where they are set.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "a child may need PATH or HOME; nothing here decides on their values"
    )]
    pub fn inherit(mut self, names: &[&str]) -> Self {
        for name in names {
            if let Some(value) = std::env::var_os(name) {
                self.env.insert(OsString::from(name), value);
            }
        }
        self
    }

    /// Lets the child look for programs in `dir` before anywhere else.
    #[must_use]
    pub fn prepend_path(mut self, dir: &Path) -> Self {
        let mut path = dir.as_os_str().to_owned();
        if let Some(rest) = self.env.get(OsStr::new("PATH")) {
            path.push(":");
            path.push(rest);
        }
        self.env.insert("PATH".into(), path);
        self
    }

    /// Bytes kept of each output stream; the middle of a longer one is dropped.
    #[must_use]
    pub fn output_cap(mut self, bytes: usize) -> Self {
        self.output_cap = bytes;
        self
    }

    /// Limits on processor time and on the size of a written file, for untrusted children.
    #[must_use]
    pub fn limits(mut self, cpu_seconds: u64, file_bytes: u64) -> Self {
        self.cpu_seconds = Some(cpu_seconds);
        self.file_bytes = Some(file_bytes);
        self
    }

    /// The kernel kills the child when the thread that started it ends, also by a `kill -9` of ours that no code of ours
    /// outlives. Where util-linux is not installed the child is killed by us alone.
    #[must_use]
    pub fn bound_to_us(mut self) -> Self {
        self.bound = true;
        self
    }

    /// The command as one line, for messages.
    pub fn line(&self) -> String {
        std::iter::once(&self.program)
            .chain(&self.args)
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    fn spawn(&self, stdin: Stdio) -> Result<Child, ProcessError> {
        let mut words: Vec<OsString> = Vec::new();
        if self.bound && Path::new(BINDER).exists() {
            words.extend([BINDER, "--pdeathsig", "KILL", "--"].map(OsString::from));
        }
        let limits = [("cpu", Resource::Cpu, self.cpu_seconds), ("fsize", Resource::Fsize, self.file_bytes)];
        let limits = limits.into_iter().filter_map(|(name, resource, limit)| Some((name, resource, limit?)));
        if limits.clone().count() > 0 && Path::new(LIMITER).exists() {
            words.push(LIMITER.into());
            words.extend(limits.clone().map(|(name, _, limit)| format!("--{name}={limit}").into()));
            words.push("--".into());
        }
        words.push(self.program.clone());
        let mut command = std::process::Command::new(&words[0]);
        command.args(&words[1..]);
        let child = command
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(&self.env)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| ProcessError::Spawn { command: self.line(), dir: self.dir.clone(), source })?;
        let pid = Pid::from_child(&child);
        // Where nothing sets them before the program runs. What it has started already goes free.
        for (_, resource, limit) in limits {
            let rlimit = Rlimit { current: Some(limit), maximum: Some(limit) };
            // The child may be gone already; then there is nothing to limit.
            let _gone = rustix::process::prlimit(Some(pid), resource, rlimit);
        }
        Ok(child)
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It exited by itself with this status.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was still running at its deadline and was killed with its group.
    Deadline,
}

/// A child that ended, with what it printed.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Standard output, capped.
    pub stdout: Vec<u8>,
    /// Standard error, capped.
    pub stderr: Vec<u8>,
    /// Wall-clock time from spawn to reap.
    pub elapsed: Duration,
}

impl Finished {
    /// Whether it exited with status 0.
    pub fn success(&self) -> bool {
        self.end == End::Exit(0)
    }

    /// The last lines of stderr (of stdout if stderr is empty), for messages.
    pub fn tail(&self, lines: usize) -> String {
        let bytes = if self.stderr.iter().all(u8::is_ascii_whitespace) { &self.stdout } else { &self.stderr };
        let text = String::from_utf8_lossy(bytes);
        let all: Vec<&str> = text.trim_end().lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// Why a child could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program could not be started.
    #[error("cannot start `{command}` in {}", .dir.display())]
    Spawn {
        /// The command line.
        command: String,
        /// Its working directory.
        dir: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Waiting for the child failed.
    #[error("cannot wait for `{command}`")]
    Wait {
        /// The command line.
        command: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The user asked to stop while it ran; its group was killed.
    #[error("interrupted")]
    Interrupted,
}

/// Runs a child to its end, its deadline or the user's interrupt.
pub fn run(spec: &Spec, interrupt: &Interrupt) -> Result<Finished, ProcessError> {
    let started = Instant::now();
    let mut child = spec.spawn(Stdio::null())?;
    let stdout = drain(child.stdout.take().expect("stdout is piped"), spec.output_cap);
    let stderr = drain(child.stderr.take().expect("stderr is piped"), spec.output_cap);
    let waited = wait_until(&mut child, started + spec.deadline, interrupt, spec);
    // The leader is gone; what it left behind in its group goes too, or the pipes would stay open.
    kill_group(&child);
    let (stdout, stderr) = (stdout.finish(), stderr.finish());
    Ok(Finished { end: waited?, stdout, stderr, elapsed: started.elapsed() })
}

fn wait_until(
    child: &mut Child,
    deadline: Instant,
    interrupt: &Interrupt,
    spec: &Spec,
) -> Result<End, ProcessError> {
    loop {
        let status =
            child.try_wait().map_err(|source| ProcessError::Wait { command: spec.line(), source })?;
        if let Some(status) = status {
            return Ok(match (status.code(), status.signal()) {
                (Some(code), _) => End::Exit(code),
                (None, signal) => End::Signal(signal.unwrap_or_default()),
            });
        }
        if interrupt.is_set() {
            stop(child);
            return Err(ProcessError::Interrupted);
        }
        if Instant::now() >= deadline {
            stop(child);
            return Ok(End::Deadline);
        }
        std::thread::sleep(POLL);
    }
}

/// TERM to the group, KILL after the grace period, then reap.
fn stop(child: &mut Child) {
    let group = Pid::from_child(child);
    // Errors mean that the group is gone already, which is what we want.
    let _gone = rustix::process::kill_process_group(group, Signal::TERM);
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        if matches!(child.try_wait(), Ok(Some(_))) {
            break;
        }
        std::thread::sleep(POLL);
    }
    let _gone = rustix::process::kill_process_group(group, Signal::KILL);
    let _reaped = child.wait();
}

fn kill_group(child: &Child) {
    let _gone = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// A stream that is read on a thread of its own: the first and the last half of a cap are kept.
#[derive(Debug)]
struct Drain {
    kept: Arc<Mutex<Kept>>,
    ended: Receiver<()>,
}

#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

fn drain(mut stream: impl Read + Send + 'static, cap: usize) -> Drain {
    let kept = Arc::new(Mutex::new(Kept::default()));
    let (ends, ended) = channel();
    let filled = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            filled.lock().expect("nobody panics with the lock").take_in(&buffer[..n], cap);
        }
        // Nobody may be waiting any more.
        let _nobody = ends.send(());
    });
    Drain { kept, ended }
}

impl Kept {
    fn take_in(&mut self, bytes: &[u8], cap: usize) {
        let (head, tail) = bytes.split_at(bytes.len().min((cap / 2).saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(cap / 2);
        self.tail.drain(..excess);
    }
}

impl Drain {
    /// What was read until the stream ended. A process that left the group and keeps the pipe open is not waited for.
    fn finish(self) -> Vec<u8> {
        let _still_open = self.ended.recv_timeout(GRACE);
        let mut kept = self.kept.lock().expect("nobody panics with the lock");
        let tail = std::mem::take(&mut kept.tail);
        let mut bytes = std::mem::take(&mut kept.head);
        bytes.extend(tail);
        bytes
    }
}

/// A long-running child that is spoken to over its stdin and stdout; its stderr is kept, capped.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    stderr: Option<Drain>,
}

impl Conversation {
    /// Starts the child and hands out its pipes. The deadline of `spec` is not used: the speaker keeps its own.
    pub fn start(spec: &Spec) -> Result<(Self, ChildStdin, ChildStdout), ProcessError> {
        let mut child = spec.spawn(Stdio::piped())?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = drain(child.stderr.take().expect("stderr is piped"), spec.output_cap);
        Ok((Self { child, stderr: Some(stderr) }, stdin, stdout))
    }

    /// Process id, for messages and tests.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the child has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits up to `patience` for the child to end by itself, then stops its group. Returns what it wrote to stderr.
    pub fn finish(mut self, patience: Duration) -> Vec<u8> {
        let until = Instant::now() + patience;
        while !self.has_ended() && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        stop(&mut self.child);
        self.stderr.take().map(Drain::finish).unwrap_or_default()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// The first of `dirs` that holds an executable file `name`.
pub fn find_in<'a>(name: &str, dirs: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    dirs.into_iter().map(|dir| dir.join(name)).find(|path| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    })
}

/// Memory that a process has in RAM, in KiB; `None` where the system does not say.
pub fn resident_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
