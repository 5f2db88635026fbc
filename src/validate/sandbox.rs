//! Patched code is untrusted: how its processes are kept from doing harm.
//!
//! With bubblewrap: no network, everything read-only but one directory, an empty `/tmp`, no homes, own process ids, no
//! capabilities. Without it only limits on processor time and file sizes. In both cases the process group is killed at
//! its deadline by [`crate::process`]. Memory is limited by the JVM's own options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{self, Interrupt, ProcessError, Spec};

/// Time for the trial run of bubblewrap.
const TRIAL_DEADLINE: Duration = Duration::from_secs(20);
/// Where every user may write, and where users keep what is theirs; replaced by empty directories.
const HIDDEN: [&str; 4] = ["/tmp", "/var/tmp", "/home", "/root"];
/// Replaced by a directory of the sandbox's own making.
const DEVICES: &str = "/dev";

/// How untrusted children are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sandbox {
    /// Bubblewrap, at this path.
    Bubblewrap(PathBuf),
    /// Limits on processor time and file sizes only.
    Limits,
    /// Nothing but the deadline. Only when the user asks for it.
    Off,
}

/// What a child may do.
#[derive(Debug, Clone, Copy)]
pub struct Confinement<'a> {
    /// The only directory that it may write to; exists.
    pub writable: &'a Path,
    /// Paths that it must be able to read wherever they lie.
    pub readable: &'a [PathBuf],
    /// Processor time.
    pub cpu_seconds: u64,
    /// Size of each file that it writes.
    pub file_bytes: u64,
}

impl Sandbox {
    /// Bubblewrap if it is given and works here, else limits with the reason why.
    pub fn detect(
        bwrap: Option<&Path>,
        interrupt: &Interrupt,
    ) -> Result<(Sandbox, Option<String>), ProcessError> {
        let Some(bwrap) = bwrap else {
            return Ok((Sandbox::Limits, Some("bubblewrap was not found".to_owned())));
        };
        let sandbox = Sandbox::Bubblewrap(bwrap.to_owned());
        let trial =
            Confinement { writable: Path::new("/"), readable: &[], cpu_seconds: 10, file_bytes: 1 << 20 };
        let program = Path::new("/bin/true");
        let spec = bubblewrap(Spec::new(bwrap, "/", TRIAL_DEADLINE), trial, &[], Path::new("/"), program);
        match process::run(&spec, interrupt) {
            Ok(finished) if finished.success() => Ok((sandbox, None)),
            Ok(finished) => {
                let reason = format!("bubblewrap does not work here: {}", finished.tail(1));
                Ok((Sandbox::Limits, Some(reason)))
            }
            Err(ProcessError::Interrupted) => Err(ProcessError::Interrupted),
            Err(error) => Ok((Sandbox::Limits, Some(error.to_string()))),
        }
    }

    /// A command for `program` in `dir`; the caller appends its arguments and environment.
    pub fn command(&self, program: &Path, dir: &Path, deadline: Duration, confinement: Confinement) -> Spec {
        let limit = |spec: Spec| spec.limits(confinement.cpu_seconds, confinement.file_bytes);
        match self {
            Sandbox::Off => Spec::new(program, dir, deadline).bound_to_us(),
            Sandbox::Limits => limit(Spec::new(program, dir, deadline)).bound_to_us(),
            Sandbox::Bubblewrap(bwrap) => {
                let binds = binds(confinement);
                let spec = limit(Spec::new(bwrap, dir, deadline));
                bubblewrap(spec, confinement, &binds, dir, program)
            }
        }
    }
}

/// What the child needs of that which is replaced.
fn binds(confinement: Confinement) -> Vec<PathBuf> {
    let is_hidden = |path: &&PathBuf| HIDDEN.iter().chain([&DEVICES]).any(|dir| path.starts_with(dir));
    let hidden = confinement.readable.iter().filter(is_hidden);
    hidden.cloned().collect()
}

fn bubblewrap(spec: Spec, confinement: Confinement, binds: &[PathBuf], dir: &Path, program: &Path) -> Spec {
    let mut spec = spec
        .args(["--die-with-parent", "--new-session", "--cap-drop", "ALL"])
        .args(["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"])
        .args(["--ro-bind", "/", "/", "--dev", DEVICES, "--proc", "/proc"]);
    for dir in HIDDEN.iter().filter(|dir| Path::new(dir).is_dir()) {
        spec = spec.args(["--tmpfs", dir]);
    }
    for path in binds {
        spec = spec.arg("--ro-bind").arg(path).arg(path);
    }
    if confinement.writable != Path::new("/") {
        spec = spec.arg("--bind").arg(confinement.writable).arg(confinement.writable);
    }
    spec.arg("--chdir").arg(dir).arg("--").arg(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::End;

    /// Runs a shell script confined to a directory of its own; `None` where bubblewrap does not work.
    fn check(script: &str) -> Option<(End, String, tempfile::TempDir)> {
        let bwrap = process::find_in("bwrap", ["/usr/bin", "/bin", "/usr/local/bin"].map(Path::new));
        let (sandbox, reason) = Sandbox::detect(bwrap.as_deref(), &Interrupt::default()).unwrap();
        if let Some(reason) = reason {
            eprintln!("skipped: {reason}");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let confinement =
            Confinement { writable: dir.path(), readable: &[], cpu_seconds: 20, file_bytes: 1 << 20 };
        let shell = Path::new("/bin/sh");
        let spec = sandbox
            .command(shell, dir.path(), Duration::from_secs(20), confinement)
            .args(["-c", script])
            .inherit(&["PATH"]);
        let finished = process::run(&spec, &Interrupt::default()).unwrap();
        Some((finished.end, finished.tail(5), dir))
    }

    #[test]
    fn the_scratch_directory_can_be_written() {
        if let Some((end, tail, dir)) = check("echo hello > inside") {
            assert_eq!(end, End::Exit(0), "{tail}");
            assert_eq!(std::fs::read_to_string(dir.path().join("inside")).unwrap(), "hello\n");
        }
    }

    #[test]
    fn nothing_else_can_be_written() {
        if let Some((end, tail, _dir)) = check("for d in / /etc /usr /opt; do echo x > $d/x; done") {
            assert!(end != End::Exit(0) && tail.contains("Read-only file system"), "{tail}");
        }
    }

    #[test]
    fn the_shared_temporary_directory_is_private() {
        let name = format!("/tmp/repair-sandbox-{}", std::process::id());
        if let Some((end, tail, _dir)) = check(&format!("echo x > {name} && ls {name}")) {
            assert_eq!(end, End::Exit(0), "{tail}");
            assert!(!Path::new(&name).exists());
        }
    }

    #[test]
    fn homes_are_hidden() {
        if let Some((end, tail, _dir)) = check("ls -A /root /home | grep -v : | grep . && exit 1; exit 0") {
            assert_eq!(end, End::Exit(0), "{tail}");
        }
    }

    #[test]
    fn only_the_loopback_network_is_there() {
        if let Some((_, tail, _dir)) = check("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '") {
            assert_eq!(tail.trim(), "lo");
        }
    }

    #[test]
    fn without_bubblewrap_there_are_limits_and_a_reason() {
        let (sandbox, reason) = Sandbox::detect(None, &Interrupt::default()).unwrap();
        assert_eq!((sandbox, reason.as_deref()), (Sandbox::Limits, Some("bubblewrap was not found")));
        let (sandbox, reason) =
            Sandbox::detect(Some(Path::new("/bin/false")), &Interrupt::default()).unwrap();
        assert!(sandbox == Sandbox::Limits && reason.is_some());
    }
}
