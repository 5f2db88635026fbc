//! The compile command.
//!
//! Never processes annotations and never compiles a source that was not named: an old class file on the class path is
//! used as it is.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::jdk::lowest_level;
use crate::java::project::Jdk;
use crate::process::Spec;

/// Which class library the sources are compiled against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// The documented one of the language level (`--release`): old code does not clash with newer methods.
    OfLevel,
    /// The JDK's own (`-source`, `-target`): for code that uses internal classes, such as `sun.misc`.
    OfJdk,
}

/// One call of `javac`.
#[derive(Debug, Clone)]
pub struct Compilation<'a> {
    /// Whose compiler.
    pub jdk: &'a Jdk,
    /// Language level; raised to the lowest that the compiler knows.
    pub level: u32,
    /// Charset of the sources.
    pub encoding: &'a str,
    /// Class library.
    pub platform: Platform,
    /// Jars and class directories, in order.
    pub class_path: &'a [PathBuf],
    /// Where the class files go; exists.
    pub out: &'a Path,
    /// Heap of the compiler.
    pub heap_mib: u32,
}

impl Compilation<'_> {
    /// The command that compiles the sources named in `arguments` (see [`argument_file`]), run in `dir`.
    pub fn spec(&self, arguments: &Path, dir: &Path, deadline: Duration) -> Spec {
        // C1 only and one collector thread: the compiler lives for a second or two.
        Spec::new(self.jdk.home.join("bin/javac"), dir, deadline)
            .args([format!("-J-Xmx{}m", self.heap_mib)])
            .args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData"])
            .arg("-J-Duser.language=en")
            .args(self.words())
            .arg(at_sign(arguments))
            .env("LC_ALL", "C.UTF-8")
    }

    /// The compiler's words but for the sources; for a compiler that runs already.
    pub fn words(&self) -> Vec<OsString> {
        let fixed = ["-g", "-nowarn", "-Xlint:none", "-proc:none", "-implicit:none", "-Xmaxerrs", "20"];
        let mut words: Vec<OsString> = fixed.map(OsString::from).to_vec();
        words.extend(["-sourcepath", "", "-encoding", self.encoding].map(OsString::from));
        words.extend(self.level_options().into_iter().map(OsString::from));
        words.extend(["-classpath".into(), join_paths(self.class_path)]);
        words.extend(["-d".into(), self.out.as_os_str().to_owned()]);
        words
    }

    fn level_options(&self) -> Vec<String> {
        let level = self.level.max(lowest_level(self.jdk.feature)).to_string();
        let has_release = self.jdk.feature >= 9;
        match self.platform {
            Platform::OfLevel if has_release => vec!["--release".into(), level],
            _ => vec!["-source".into(), level.clone(), "-target".into(), level],
        }
    }
}

/// The entries as one class path.
pub fn join_paths<P: AsRef<Path>>(entries: &[P]) -> OsString {
    let mut joined = OsString::new();
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            joined.push(":");
        }
        joined.push(entry.as_ref());
    }
    joined
}

fn at_sign(path: &Path) -> OsString {
    let mut argument = OsString::from("@");
    argument.push(path);
    argument
}

/// The text of an argument file that names `sources`, as `javac` reads it: one quoted path a line.
pub fn argument_file<P: AsRef<Path>>(sources: &[P]) -> String {
    let mut text = String::new();
    for source in sources {
        let path = source.as_ref().to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(text, "\"{path}\"").expect("writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(feature: u32, level: u32, platform: Platform) -> String {
        let jdk = Jdk { home: PathBuf::from("/jdk"), feature };
        let compilation = Compilation {
            jdk: &jdk,
            level,
            encoding: "UTF-8",
            platform,
            class_path: &[PathBuf::from("/a.jar"), PathBuf::from("/b")],
            out: Path::new("/out"),
            heap_mib: 512,
        };
        compilation.spec(Path::new("/args"), Path::new("/"), Duration::from_secs(1)).line()
    }

    #[test]
    fn the_level_is_raised_to_what_the_compiler_knows() {
        assert!(check(17, 5, Platform::OfLevel).contains(" --release 7 "));
        assert!(check(25, 5, Platform::OfLevel).contains(" --release 8 "));
        assert!(check(17, 11, Platform::OfLevel).contains(" --release 11 "));
    }

    #[test]
    fn a_compiler_without_release_gets_source_and_target() {
        assert!(check(8, 5, Platform::OfLevel).contains(" -source 5 -target 5 "));
        assert!(check(17, 8, Platform::OfJdk).contains(" -source 8 -target 8 "));
    }

    #[test]
    fn the_class_path_keeps_its_order() {
        assert!(check(17, 8, Platform::OfLevel).contains(" -classpath /a.jar:/b -d /out @/args"));
    }

    #[test]
    fn odd_paths_are_quoted_for_javac() {
        assert_eq!(argument_file(&["a b/C.java", "x\\\"y.java"]), "\"a b/C.java\"\n\"x\\\\\\\"y.java\"\n");
    }
}
