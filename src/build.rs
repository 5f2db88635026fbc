//! Build tools: from a directory to a [`Project`], and from a project to the command that compiles it.
//!
//! Looks at the user's tree and never writes to it: what a build tool must write goes to a scratch directory. All
//! paths and candidate JDKs come in as arguments; nothing here reads the environment.
//!
//! Deliberately absent: annotation processing, resource filtering, running a build tool's own test goal.

use std::path::{Path, PathBuf};

use crate::java::project::{BuildTool, Jdk, Project};
use crate::process::{Interrupt, ProcessError};

pub mod javac;
pub mod jdk;
mod maven;
mod pattern;
mod plain;
mod reactor;

/// What the user said about the project; it goes before whatever is found. Relative paths are below the root.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `None`: Maven where there is a `pom.xml`, else plain.
    pub build_tool: Option<BuildTool>,
    /// Roots of the main sources.
    pub sources: Vec<PathBuf>,
    /// Roots of the test sources.
    pub tests: Vec<PathBuf>,
    /// Jars and class directories.
    pub class_path: Vec<PathBuf>,
    /// Language level as the feature release.
    pub level: Option<u32>,
    /// Charset label of the sources.
    pub encoding: Option<String>,
    /// Home of the JDK to use.
    pub jdk: Option<PathBuf>,
}

impl Overrides {
    /// These, and where they say nothing, the others.
    #[must_use]
    pub fn or(self, others: &Overrides) -> Overrides {
        let paths =
            |own: Vec<PathBuf>, others: &[PathBuf]| if own.is_empty() { others.to_vec() } else { own };
        Overrides {
            build_tool: self.build_tool.or(others.build_tool),
            sources: paths(self.sources, &others.sources),
            tests: paths(self.tests, &others.tests),
            class_path: paths(self.class_path, &others.class_path),
            level: self.level.or(others.level),
            encoding: self.encoding.or_else(|| others.encoding.clone()),
            jdk: self.jdk.or_else(|| others.jdk.clone()),
        }
    }
}

/// What there is on this machine.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// Candidate JDKs, the preferred one first; the first that supports the project's level is taken.
    pub jdks: Vec<Jdk>,
    /// The Maven launcher.
    pub mvn: Option<PathBuf>,
    /// JUnit jars for plain projects whose class path has none.
    pub junit: Vec<PathBuf>,
}

/// Why a directory could not be understood as a project.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The root is missing or a file.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// A path that the user gave does not exist.
    #[error("{what} `{}` does not exist", .path.display())]
    Missing {
        /// What the path was given for.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// No Java source was found.
    #[error("no Java sources under `{}`; name their roots with `--source`", .0.display())]
    NoSources(PathBuf),
    /// There is no JDK at all, or none that is new enough.
    #[error("no JDK that compiles Java {level}; install one or name it with `--jdk`")]
    NoJdk {
        /// The project's language level.
        level: u32,
    },
    /// A directory holds no usable JDK.
    #[error("`{}` is not a JDK: {reason}", .home.display())]
    NotAJdk {
        /// The directory.
        home: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The given JDK is too old for the project.
    #[error("the JDK in `{}` is release {feature}, the project needs {level}", .home.display())]
    JdkTooOld {
        /// Its home.
        home: PathBuf,
        /// Its feature release.
        feature: u32,
        /// The project's language level.
        level: u32,
    },
    /// The charset label is not known.
    #[error("unknown charset `{0}`; name the sources' charset with `--encoding`")]
    Charset(String),
    /// The project needs Maven, and there is none.
    #[error("`{}` needs Maven, which was not found; install it or use `--build plain --classpath JARS`", .0.display())]
    NoMaven(PathBuf),
    /// Maven did not describe the project.
    #[error("`{command}` {end}:\n{tail}")]
    Maven {
        /// The command line.
        command: String,
        /// How it ended, for people: `exited with status 1`.
        end: String,
        /// Its first error lines.
        tail: String,
    },
    /// The effective POM could not be read as XML.
    #[error("cannot read the effective POM of `{}`", .pom.display())]
    Pom {
        /// The project's POM.
        pom: PathBuf,
        /// What the parser said.
        #[source]
        source: roxmltree::Error,
    },
    /// A language level that is no number.
    #[error("`{0}` is not a Java release")]
    Level(String),
    /// A file or directory could not be read or written.
    #[error("cannot {action} `{}`", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A child could not be run.
    #[error(transparent)]
    Process(ProcessError),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<ProcessError> for BuildError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Interrupted => BuildError::Interrupted,
            other => BuildError::Process(other),
        }
    }
}

/// What a build tool says about a project; paths absolute, not yet known to exist.
#[derive(Debug, Default)]
struct Description {
    sources: Vec<PathBuf>,
    tests: Vec<PathBuf>,
    resources: Vec<PathBuf>,
    class_path: Vec<PathBuf>,
    /// Patterns of main and of test sources that are not compiled.
    excludes: Vec<String>,
    test_excludes: Vec<String>,
    level: Option<u32>,
    encoding: Option<String>,
}

/// Finds out all about the project in `root`. Whatever must be written goes to `scratch`, an existing directory.
pub fn inspect(
    root: &Path,
    overrides: &Overrides,
    tools: &Tools,
    scratch: &Path,
    interrupt: &Interrupt,
) -> Result<Project, BuildError> {
    let canonical = root.canonicalize().ok().filter(|path| path.is_dir());
    let root = canonical.ok_or_else(|| BuildError::NotADirectory(root.to_owned()))?;
    let given_jdk = overrides.jdk.as_deref().map(|home| jdk::probe_jdk(home, interrupt)).transpose()?;
    let has_pom = root.join("pom.xml").is_file();
    let build_tool =
        overrides.build_tool.unwrap_or(if has_pom { BuildTool::Maven } else { BuildTool::Plain });
    let mut description = match build_tool {
        BuildTool::Plain => plain::describe(&root, !overrides.sources.is_empty()),
        BuildTool::Maven => {
            let java_home = given_jdk.as_ref().or(tools.jdks.first()).map(|jdk| jdk.home.as_path());
            maven::describe(&root, tools.mvn.as_deref(), java_home, scratch, interrupt)?
        }
    };
    apply(overrides, &root, &mut description)?;
    if build_tool == BuildTool::Plain {
        plain::add_junit(&mut description, &tools.junit);
    }
    finish(root, build_tool, description, given_jdk, tools)
}

/// Puts what the user said over what was found.
fn apply(overrides: &Overrides, root: &Path, description: &mut Description) -> Result<(), BuildError> {
    let fields = [
        (&overrides.sources, &mut description.sources, "source root"),
        (&overrides.tests, &mut description.tests, "test root"),
        (&overrides.class_path, &mut description.class_path, "class path entry"),
    ];
    for (given, found, what) in fields {
        if !given.is_empty() {
            *found = given.iter().map(|path| existing(&root.join(path), what)).collect::<Result<_, _>>()?;
        }
    }
    description.level = overrides.level.or(description.level);
    if overrides.encoding.is_some() {
        description.encoding.clone_from(&overrides.encoding);
    }
    Ok(())
}

fn existing(path: &Path, what: &'static str) -> Result<PathBuf, BuildError> {
    path.canonicalize().map_err(|_absent| BuildError::Missing { what, path: path.to_owned() })
}

/// Drops what does not exist, chooses the JDK and checks what is left.
fn finish(
    root: PathBuf,
    build_tool: BuildTool,
    description: Description,
    given_jdk: Option<Jdk>,
    tools: &Tools,
) -> Result<Project, BuildError> {
    let jdk = jdk::choose(given_jdk, &tools.jdks, description.level)?;
    let sources = present(&description.sources);
    let tests: Vec<PathBuf> =
        present(&description.tests).into_iter().filter(|test| !sources.contains(test)).collect();
    if !plain::holds_java(&sources) {
        return Err(BuildError::NoSources(root));
    }
    let encoding = match description.encoding {
        Some(label) => label,
        None => plain::guess_encoding(sources.iter().chain(&tests)).to_owned(),
    };
    if encoding_rs::Encoding::for_label(encoding.as_bytes()).is_none() {
        return Err(BuildError::Charset(encoding));
    }
    Ok(Project {
        level: description.level.unwrap_or(jdk.feature),
        excluded: [excluded(&sources, &description.excludes), excluded(&tests, &description.test_excludes)]
            .concat(),
        resources: present(&description.resources),
        class_path: present(&description.class_path),
        root,
        build_tool,
        sources,
        tests,
        encoding,
        jdk,
    })
}

/// The sources below `roots` that one of the patterns matches.
fn excluded(roots: &[PathBuf], patterns: &[String]) -> Vec<PathBuf> {
    if patterns.is_empty() {
        return Vec::new();
    }
    let matches = |root: &Path, file: &Path| {
        let below = file.strip_prefix(root).unwrap_or(file);
        patterns.iter().any(|pattern| pattern::matches(pattern, below))
    };
    let of_root = |root| plain::java_files(root).filter(move |file| matches(root, file));
    roots.iter().flat_map(|root| of_root(root)).collect()
}

/// The paths that exist, canonical, each once, in order.
fn present(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut kept = Vec::with_capacity(paths.len());
    for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
        if !kept.contains(&path) {
            kept.push(path);
        }
    }
    kept
}

/// The root of main or test sources that `file` (absolute or below the project's root) lies in; the innermost one.
pub fn locate<'a>(project: &'a Project, file: &Path) -> Option<&'a Path> {
    let file = project.root.join(file);
    let file = file.canonicalize().unwrap_or(file);
    let roots = project.sources.iter().chain(&project.tests).map(PathBuf::as_path);
    roots.filter(|root| file.starts_with(root)).max_by_key(|root| root.components().count())
}

/// A Java release as people write it: `8`, `1.8`, `17`.
pub fn parse_level(text: &str) -> Result<u32, BuildError> {
    let text = text.trim();
    let number = text.strip_prefix("1.").unwrap_or(text);
    number.parse().map_err(|_not_a_number| BuildError::Level(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_a_level_are_read() {
        let levels: Vec<u32> =
            ["1.5", "1.8", "8", "17"].iter().map(|text| parse_level(text).unwrap()).collect();
        assert_eq!(levels, [5, 8, 8, 17]);
        assert!(parse_level("${java.version}").is_err());
    }

    #[test]
    fn a_missing_root_is_named() {
        let error = inspect(
            Path::new("/no/such"),
            &Overrides::default(),
            &Tools::default(),
            Path::new("/"),
            &Interrupt::default(),
        );
        assert_eq!(error.unwrap_err().to_string(), "`/no/such` is not a directory");
    }
}
