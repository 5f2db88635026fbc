//! A tiny project in a directory of its own, and the parts of this machine that judge its patches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use repair::build::{self, BuildError, Overrides, Tools, jdk};
use repair::java::project::{Jdk, Project};
use repair::process::{self, Interrupt};
use repair::validate::sandbox::Sandbox;
use repair::validate::{ValidateError, ValidateSettings, Validator};
use tempfile::TempDir;

#[path = "../parts/cache.rs"]
mod place;
use place::cache;

/// What the machine must have.
pub struct Parts {
    pub jdk: Jdk,
    pub junit: Vec<PathBuf>,
    pub runner: PathBuf,
    pub bwrap: Option<PathBuf>,
    pub mvn: Option<PathBuf>,
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// `None`, and a word about it, where a test cannot run.
pub fn parts() -> Option<Parts> {
    let cache = cache();
    let places = variable("JAVA_HOME").into_iter().chain([PathBuf::from("/usr/lib/jvm")]).collect::<Vec<_>>();
    let mut jdks = jdk::find_jdks(&places, &Interrupt::default());
    jdks.retain(|jdk| jdk.feature >= 17);
    let jars = std::fs::read_dir(cache.join("junit")).into_iter().flatten().flatten();
    let mut jars: Vec<PathBuf> = jars.map(|entry| entry.path()).collect();
    jars.sort();
    let newest = |name: &str| jars.iter().rfind(|jar| jar.to_string_lossy().contains(name)).cloned();
    let junit: Vec<PathBuf> =
        ["console-standalone-", "/junit-4", "hamcrest-core-"].into_iter().filter_map(newest).collect();
    let runner = cache.join("lib/repair-runner.jar");
    let missing = [
        (jdks.is_empty(), "a JDK 17 or newer"),
        (junit.len() < 3, "the JUnit jars"),
        (!runner.is_file(), "repair-runner.jar"),
    ];
    if let Some((_, what)) = missing.iter().find(|(is_missing, _)| *is_missing) {
        eprintln!("skipped: {what} not found; run scripts/setup.sh");
        return None;
    }
    let find = |name| process::find_in(name, ["/usr/bin", "/usr/local/bin"].map(Path::new));
    Some(Parts { jdk: jdks.pop()?, junit, runner, bwrap: find("bwrap"), mvn: find("mvn") })
}

pub const CALC: &str = "package demo;\n\
    public class Calc {\n\
    \x20   public static final int STEP = 1;\n\
    \x20   public int add(int a, int b) {\n\
    \x20       return a - b;\n\
    \x20   }\n\
    \x20   public int next(int a) {\n\
    \x20       return a + STEP;\n\
    \x20   }\n\
    }\n";
pub const USER: &str = "package demo;\n\
    public class User {\n\
    \x20   public static int step() { return Calc.STEP; }\n\
    \x20   public static int after(int a) { return new Calc().next(a); }\n\
    }\n";
pub const TEST_4: &str = "package demo;\n\
    import static org.junit.Assert.assertEquals;\n\
    import org.junit.Test;\n\
    public class CalcTest {\n\
    \x20   @Test public void adds() { assertEquals(5, new Calc().add(2, 3)); }\n\
    \x20   @Test public void addsNothing() { assertEquals(2, new Calc().add(2, 0)); }\n\
    }\n";
pub const OTHER_TEST_4: &str = "package demo;\n\
    import static org.junit.Assert.*;\n\
    import org.junit.*;\n\
    public class UserTest {\n\
    \x20   @Test public void goesOn() { assertEquals(4, User.after(3)); }\n\
    \x20   @Test public void failsAnyway() { fail(\"always\"); }\n\
    \x20   @Ignore @Test public void isDisabled() { }\n\
    }\n";
pub const TEST_5: &str = "package demo;\n\
    import static org.junit.jupiter.api.Assertions.*;\n\
    import org.junit.jupiter.api.*;\n\
    import org.junit.jupiter.params.ParameterizedTest;\n\
    import org.junit.jupiter.params.provider.CsvSource;\n\
    class CalcTest {\n\
    \x20   @ParameterizedTest @CsvSource({\"2,3,5\", \"2,0,2\"})\n\
    \x20   void adds(int a, int b, int sum) { assertEquals(sum, new Calc().add(a, b)); }\n\
    \x20   @Nested class Next { @Test void goesOn() { assertEquals(4, User.after(3)); } }\n\
    }\n";

/// The tiny project, found by looking, with its validator.
pub struct Bench {
    pub dir: TempDir,
    pub project: Project,
    pub parts: Parts,
}

impl Bench {
    pub fn new(files: &[(&str, &[u8])]) -> Option<Bench> {
        let (parts, dir) = (parts()?, tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = dir.path().join("tree").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let project = inspect(&dir, &parts).unwrap();
        Some(Bench { dir, project, parts })
    }

    pub fn junit_4() -> Option<Bench> {
        Self::new(&[
            ("src/main/java/demo/Calc.java", CALC.as_bytes()),
            ("src/main/java/demo/User.java", USER.as_bytes()),
            ("src/test/java/demo/CalcTest.java", TEST_4.as_bytes()),
            ("src/test/java/demo/UserTest.java", OTHER_TEST_4.as_bytes()),
        ])
    }

    pub fn settings(&self) -> ValidateSettings {
        let (sandbox, _reason) = Sandbox::detect(self.parts.bwrap.as_deref(), &Interrupt::default()).unwrap();
        let (runner, junit) = (self.parts.runner.clone(), self.parts.junit.clone());
        let mut settings = ValidateSettings::new(self.dir.path().join("scratch"), runner, junit, sandbox);
        settings.limits.minimum = Duration::from_secs(10);
        settings.limits.factor = 2;
        settings.limits.baseline_trigger = Duration::from_secs(12);
        settings.limits.heap_mib = 256;
        settings
    }

    pub fn validator(&self) -> Validator {
        Validator::new(&self.project, self.settings(), Interrupt::default())
    }

    /// A validator whose baseline with the trigger is there.
    pub fn ready(&self, trigger: &str) -> Validator {
        let mut validator = self.validator();
        validator.baseline(&[trigger.parse().unwrap()]).unwrap();
        validator
    }

    pub fn refusal(&self, trigger: &str) -> ValidateError {
        self.validator().baseline(&[trigger.parse().unwrap()]).unwrap_err()
    }

    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = walkdir::WalkDir::new(self.dir.path().join("tree")).into_iter().map(Result::unwrap);
        let content = |path: &Path| if path.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
        entries.map(|entry| (entry.path().to_owned(), content(entry.path()))).collect()
    }
}

pub fn inspect(dir: &TempDir, parts: &Parts) -> Result<Project, BuildError> {
    let maven = dir.path().join("maven");
    std::fs::create_dir_all(&maven).unwrap();
    let tools = Tools { jdks: vec![parts.jdk.clone()], mvn: parts.mvn.clone(), junit: parts.junit.clone() };
    build::inspect(&dir.path().join("tree"), &Overrides::default(), &tools, &maven, &Interrupt::default())
}
