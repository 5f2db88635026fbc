//! A checkout of a buggy version: one that is there, or one that the framework's command makes.
//!
//! A checkout appears under its name only when it is complete, so a half-made one is never taken for whole. The answer
//! lies in its version control data, which nothing here hands on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Defects4jError, Framework, read};
use crate::bug::BugId;
use crate::bug::change::Change;
use crate::process::{self, Finished, Interrupt, Spec};

/// What a checkout says of itself.
const CONFIG: &str = ".defects4j.config";
/// The largest project takes half a minute on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(900);
/// Lines of a log that are looked through for the cause.
const CAUSE_LINES: usize = 400;

/// Checks that the directory is a checkout of the buggy version.
pub fn require_checkout(dir: &Path, bug: &BugId) -> Result<PathBuf, Defects4jError> {
    let dir = dir.canonicalize().map_err(Defects4jError::io("read", dir))?;
    let text = read(&dir.join(CONFIG))?;
    let value = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned()).next()
    };
    let found = format!("{}-{}", value("pid").unwrap_or_default(), value("vid").unwrap_or_default());
    let wanted = format!("{bug}b");
    if found == wanted { Ok(dir) } else { Err(Defects4jError::OtherCheckout { dir, found, wanted }) }
}

/// Has the framework's command make a checkout in `dir`, which must not exist; its parent must.
pub fn make_checkout(
    framework: &Framework,
    command: &Path,
    bug: &BugId,
    dir: &Path,
    interrupt: &Interrupt,
) -> Result<PathBuf, Defects4jError> {
    let parent = dir.parent().unwrap_or(Path::new("/"));
    let scratch = tempfile::Builder::new()
        .prefix(".checkout-")
        .tempdir_in(parent)
        .map_err(Defects4jError::io("create a directory in", parent))?;
    let (work, log) = (scratch.path().join("work"), dir.with_extension("log"));
    let spec = spec(framework, command, bug, &work, scratch.path())?;
    let finished = process::run(&spec, interrupt)?;
    if !finished.success() || !work.join(CONFIG).is_file() {
        let text = [&finished.stdout[..], b"\n", &finished.stderr[..]].concat();
        std::fs::write(&log, &text).map_err(Defects4jError::io("write", &log))?;
        return Err(failure(bug, &finished, log));
    }
    std::fs::rename(&work, dir).map_err(Defects4jError::io("create", dir))?;
    require_checkout(dir, bug)
}

/// The command asks for the release of Java before anything else and runs no Java for a checkout; a stand-in gives the
/// answer that it waits for, so that a machine with another release gets its checkout too.
fn spec(
    framework: &Framework,
    command: &Path,
    bug: &BugId,
    work: &Path,
    scratch: &Path,
) -> Result<Spec, Defects4jError> {
    let bin = scratch.join("bin");
    std::fs::create_dir(&bin).map_err(Defects4jError::io("create", &bin))?;
    let mut spec = Spec::new(command, scratch, DEADLINE)
        .args(["checkout", "-p", &bug.project, "-v", &format!("{}b", bug.id), "-w"])
        .arg(work)
        .inherit(&["PATH", "HOME", "PERL5LIB", "TMPDIR"])
        .inherit(&["GIT_CONFIG_GLOBAL", "GIT_NO_LAZY_FETCH"])
        // Git and patch ask nobody.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8");
    if let Some(release) = required_java(framework) {
        write_stand_in(&bin.join("java"), release)?;
        spec = spec.prepend_path(&bin);
    }
    Ok(spec)
}

/// The release of Java that the framework insists on, as its sources say it.
pub fn required_java(framework: &Framework) -> Option<u32> {
    let text = std::fs::read_to_string(framework.home().join("framework/core/Constants.pm")).ok()?;
    let rest = text.split("java_version_output =~").nth(1)?.split("!=").nth(1)?;
    rest.trim().chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

fn write_stand_in(path: &Path, release: u32) -> Result<(), Defects4jError> {
    use std::os::unix::fs::PermissionsExt as _;
    let version = if release < 9 { format!("1.{release}.0") } else { format!("{release}.0.0") };
    let script = format!("#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n");
    std::fs::write(path, script)
        .and_then(|()| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)))
        .map_err(Defects4jError::io("write", path))
}

/// The first step that failed, and the first line after it that gives a reason.
fn failure(bug: &BugId, finished: &Finished, log: PathBuf) -> Defects4jError {
    let text =
        String::from_utf8_lossy(&finished.stderr).into_owned() + &String::from_utf8_lossy(&finished.stdout);
    let (step, cause) = first_failure(&text);
    Defects4jError::Checkout { bug: bug.clone(), step, cause, log }
}

fn first_failure(text: &str) -> (String, String) {
    let lines: Vec<&str> =
        text.lines().take(CAUSE_LINES).map(str::trim).filter(|line| !line.is_empty()).collect();
    let failed = lines.iter().position(|line| line.ends_with(" FAIL"));
    let step = failed.map_or("start", |at| lines[at].trim_end_matches(" FAIL").trim_end_matches('.'));
    let after = &lines[failed.map_or(0, |at| at + 1)..];
    let reasons =
        ["error:", "fatal:", "rejected", "FAILED", "required", "Couldn't", "Can't", "Cannot", "not found"];
    let cause = after.iter().find(|line| reasons.iter().any(|reason| line.contains(reason)));
    let cause = cause.or(after.last()).map_or("nothing was printed", |line| line);
    (step.to_owned(), cause.to_owned())
}

/// Checks that a checkout's file has the buggy lines where the bug's diff says. `text` is the file.
pub fn require_buggy_lines(bug: &BugId, change: &Change, text: &[u8]) -> Result<(), Defects4jError> {
    let first = change.lines.first();
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let bare = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
    for (number, buggy) in (first..).zip(&change.buggy) {
        if lines.get(number - 1).is_none_or(|line| *line != bare(buggy)) {
            return Err(Defects4jError::OtherText {
                bug: bug.clone(),
                file: change.file.clone(),
                line: number,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::framework;
    use super::*;

    fn bug() -> BugId {
        "P-1".parse().unwrap()
    }

    /// A framework whose command is this shell script; the result with the directory's entries afterwards.
    fn check(script: &str) -> (Result<PathBuf, String>, Vec<String>) {
        use std::os::unix::fs::PermissionsExt as _;
        let (home, framework) = framework(&[("active-bugs.csv", "")]);
        let core = home.path().join("framework/core");
        std::fs::create_dir_all(&core).unwrap();
        std::fs::write(core.join("Constants.pm"), "if ($java_version_output =~ 'x') {\n if ($1 != 11) {")
            .unwrap();
        let command = home.path().join("d4j");
        std::fs::write(&command, format!("#!/bin/sh\nwork=$7\n{script}\n")).unwrap();
        std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o755)).unwrap();
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().join("P-1");
        let made = make_checkout(&framework, &command, &bug(), &dir, &Interrupt::default());
        let made = made.map_err(|error| error.to_string().replace(&*out.path().to_string_lossy(), ""));
        let entries = std::fs::read_dir(out.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        (made, names)
    }

    #[test]
    fn a_checkout_is_made_by_a_command_that_sees_the_java_it_asks_for() {
        let script = "java -version 2>&1 | grep -q '\"11.' || exit 9\nmkdir $work\nprintf 'pid=P\\nvid=1b\\n' > $work/.defects4j.config";
        let (made, names) = check(script);
        assert!(made.unwrap().ends_with("P-1"));
        assert_eq!(names, ["P-1"]);
    }

    #[test]
    fn a_half_made_checkout_is_gone_and_its_failed_step_is_told() {
        let script = "mkdir $work\necho 'Tag it..... OK' >&2\necho 'Apply patch........ FAIL' >&2\n\
                      echo 'Executed command: x' >&2\necho 'error: patch failed: A.java:3' >&2\necho 'at Project.pm line 3' >&2\nexit 2";
        let (made, names) = check(script);
        assert_eq!(
            made.unwrap_err(),
            "checkout of P-1 failed at `Apply patch`: error: patch failed: A.java:3 (log: `/P-1.log`)"
        );
        assert_eq!(names, ["P-1.log"]);
    }

    #[test]
    fn a_command_that_ends_well_without_a_checkout_has_failed() {
        assert!(check("exit 0").0.unwrap_err().starts_with("checkout of P-1 failed at `start`"));
    }

    #[test]
    fn a_missing_perl_module_is_the_cause() {
        let (step, cause) =
            first_failure("Can't locate DBI.pm in @INC\nBEGIN failed at x\nCompilation failed in require\n");
        assert_eq!((step.as_str(), cause.as_str()), ("start", "Can't locate DBI.pm in @INC"));
    }

    #[test]
    fn a_checkout_of_another_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CONFIG), "#x\npid=P\nvid=1f").unwrap();
        let error = require_checkout(dir.path(), &bug()).unwrap_err().to_string();
        assert!(error.contains("is a checkout of P-1f, not of P-1b"), "{error}");
    }

    #[test]
    fn a_file_without_the_buggy_lines_is_refused() {
        let diff = b"--- a/A\n+++ b/A\n@@ -1,2 +1,2 @@\n a\n-x\r\n+b\r\n";
        let change = &crate::bug::change::read_reversed(diff).unwrap().runs[0];
        assert!(require_buggy_lines(&bug(), change, b"a\nb\r\n").is_ok());
        let error = require_buggy_lines(&bug(), change, b"a\nx\r\n").unwrap_err().to_string();
        assert!(error.contains("line 2 differs"), "{error}");
    }
}
