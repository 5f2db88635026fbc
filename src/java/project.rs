//! What every stage must know about the program under repair. Found by `build`, read by `engine` and `validate`.

use std::path::PathBuf;

/// A JDK that compiles and runs the project (not the one that runs the language server).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// Its home directory: `bin/java`, `bin/javac` and `lib/jrt-fs.jar` or `jre/lib/rt.jar` lie below.
    pub home: PathBuf,
    /// Feature release: 8, 11, 17, ...
    pub feature: u32,
}

/// Which tool described the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BuildTool {
    /// Source roots and class path were given or found by looking.
    Plain,
    /// A Maven POM.
    Maven,
}

/// A Java project: all paths absolute, all existing when it was inspected.
#[derive(Debug, Clone)]
pub struct Project {
    /// The user's tree. Never written to.
    pub root: PathBuf,
    /// How the rest was found.
    pub build_tool: BuildTool,
    /// Roots of the main sources.
    pub sources: Vec<PathBuf>,
    /// Roots of the test sources.
    pub tests: Vec<PathBuf>,
    /// Sources below `sources` or `tests` that the build tool does not compile.
    pub excluded: Vec<PathBuf>,
    /// Directories whose files are on the class path as they are (`src/main/resources`, `src/test/resources`).
    pub resources: Vec<PathBuf>,
    /// Jars and class directories that main and test sources are compiled against, in order.
    pub class_path: Vec<PathBuf>,
    /// Language level as the feature release: 8 for `1.8`; older ones as 5, 6, 7.
    pub level: u32,
    /// Charset label of the sources (WHATWG / Java name), e.g. `UTF-8`.
    pub encoding: String,
    /// Compiles and runs the project.
    pub jdk: Jdk,
}
