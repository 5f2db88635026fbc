//! Running the `repair` command on projects in temporary directories.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

#[path = "../parts/cache.rs"]
mod place;
pub use place::cache;

/// A small project: Maven's layout without a POM, one class with a bug, JUnit 4.
pub const CALC: &str = "package a;\n\npublic class Calc {\n    public static int add(int x, int y) {\n        return x - y;\n    }\n\n    public static int sub(int x, int y) {\n        return x - y;\n    }\n}\n";
pub const CALC_TEST: &str = "package a;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class CalcTest {\n    @Test\n    public void adds() {\n        assertEquals(5, Calc.add(2, 3));\n    }\n\n    @Test\n    public void subtracts() {\n        assertEquals(1, Calc.sub(3, 2));\n    }\n}\n";
pub const CALC_FILE: &str = "src/main/java/a/Calc.java";

pub struct Project {
    pub dir: TempDir,
}

impl Project {
    /// `a.Calc` with its test; `calc` in place of its source.
    pub fn calc(calc: &[u8]) -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        project.write(CALC_FILE, calc);
        project.write("src/test/java/a/CalcTest.java", CALC_TEST.as_bytes());
        project
    }

    /// The demo project with one of its bugs.
    pub fn demo(bug: &str) -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/demo");
        copy(&demo.join("base"), &project.root());
        copy(&demo.join("bugs").join(bug), &project.root());
        project
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.root().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.root().join(file)).unwrap()
    }

    /// Every file with its bytes.
    pub fn tree(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = walkdir::WalkDir::new(self.root()).sort_by_file_name().into_iter().map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_type().is_file());
        files.map(|entry| (entry.path().to_owned(), std::fs::read(entry.path()).unwrap())).collect()
    }

    pub fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// The command with the flags that name this project and its run directory.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = command(words);
        command
            .arg("--project")
            .arg(self.root())
            .arg("--run-dir")
            .arg(self.run_dir())
            .arg("--build")
            .arg("plain");
        command
    }

    pub fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Exit code, stdout and stderr of a run, with this machine's paths taken out.
    pub fn run(&self, words: &[&str]) -> String {
        self.show(&self.command(words).output().unwrap())
    }

    pub fn show(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let text = text.replace(&self.dir.path().canonicalize().unwrap().display().to_string(), "[dir]");
            text.replace(&cache().display().to_string(), "[cache]")
        };
        let code = output.status.code().map_or("signal".to_owned(), |code| code.to_string());
        format!("exit {code}\n{}---\n{}", text(&output.stdout), text(&output.stderr))
    }

    /// Lines of a record of the only bug of the run.
    pub fn lines(&self, record: &str) -> Vec<serde_json::Value> {
        let text = self.record(record);
        text.lines().map(|line| serde_json::from_str(line).expect("every line is whole")).collect()
    }

    pub fn record(&self, record: &str) -> String {
        let mut bugs =
            std::fs::read_dir(self.run_dir()).into_iter().flatten().map(|entry| entry.unwrap().path());
        let bug = bugs.find(|path| path.is_dir());
        bug.and_then(|bug| std::fs::read_to_string(bug.join(record)).ok()).unwrap_or_default()
    }
}

#[expect(clippy::disallowed_methods, reason = "the test runs the program as a user would")]
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repair"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Whether the real parts are there; says so if a test is skipped for want of them.
pub fn parts_are_there() -> bool {
    let missing: Vec<&str> = ["jdtls/plugins", "lib/repair-jdtls.jar", "lib/repair-runner.jar", "models"]
        .into_iter()
        .filter(|part| !cache().join(part).exists())
        .collect();
    if !missing.is_empty() {
        eprintln!("skipped: {} not in {}; run scripts/setup.sh", missing.join(", "), cache().display());
    }
    missing.is_empty()
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).into_iter().map(Result::unwrap) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
