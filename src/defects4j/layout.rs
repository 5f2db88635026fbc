//! What a checkout is made of: source roots, class path, language level, charset, tests left out.
//!
//! Read from the checkout's properties and build files and from the framework's jars. The framework's own way, Ant with
//! a release of Java of its choosing, gives the same class path and takes seconds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::{Defects4jError, Framework, level, read};
use crate::bug::BugId;

/// Directories of a checkout that hold jars.
const JAR_DIRS: [&str; 3] = ["lib", "libs", "compileLib"];
/// The framework's test library, below `framework/projects`.
const JUNIT: &str = "lib/junit-4.12-hamcrest-1.3.jar";
/// Build files, in a module's directory.
const BUILD_FILES: [&str; 7] = [
    "maven-build.xml",
    "maven-build.properties",
    "build.xml",
    "default.properties",
    "project.properties",
    "pom.xml",
    "build.gradle",
];
/// Old copies of what every JDK has: its own are taken first, and only some of these fit to them.
const OF_THE_JDK: [&str; 3] = ["xerces", "xml-apis", "xercesImpl"];
/// How Ant files that were made from Maven's name the framework's jars.
const REPOSITORY: &str = "${maven.repo.local}/";

/// The parts of a checkout; paths absolute and not all known to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Roots of the main sources.
    pub sources: Vec<PathBuf>,
    /// Roots of the test sources.
    pub tests: Vec<PathBuf>,
    /// Jars, in the order in which they count.
    pub class_path: Vec<PathBuf>,
    /// Language level as the feature release.
    pub level: u32,
    /// Charset label of the sources, where a build file tells.
    pub encoding: Option<String>,
    /// Test classes that the framework leaves out.
    pub excluded_tests: Vec<String>,
}

/// Reads the layout of the checkout in `root`.
pub fn read_layout(framework: &Framework, bug: &BugId, root: &Path) -> Result<Layout, Defects4jError> {
    let properties_file = root.join("defects4j.build.properties");
    let properties = parse_properties(&read(&properties_file)?);
    let property = |name: &str| {
        properties.get(name).cloned().ok_or_else(|| Defects4jError::Malformed {
            path: properties_file.clone(),
            reason: format!("it lacks `{name}`"),
        })
    };
    let main = root.join(property("d4j.dir.src.classes")?);
    let tests = root.join(property("d4j.dir.src.tests")?);
    let build_text = build_files(root, &main).concat();
    let mut sources = vec![main];
    // Closure keeps the classes that its protocol compiler made.
    sources.extend(Some(root.join("gen")).filter(|dir| bug.project == "Closure" && dir.is_dir()));
    let excluded = properties.get("d4j.tests.exclude").map_or("", String::as_str);
    Ok(Layout {
        sources,
        tests: vec![tests],
        class_path: class_path(framework, bug, root, &build_text),
        level: level::level(&build_text),
        encoding: level::encoding(&build_text),
        excluded_tests: excluded.split(',').filter_map(class_of_pattern).collect(),
    })
}

/// `a/b/CTest.java` as the class that it holds.
fn class_of_pattern(pattern: &str) -> Option<String> {
    let class = pattern.trim().trim_end_matches(".java").trim_end_matches(".class").trim_start_matches("**/");
    (!class.is_empty()).then(|| class.replace('/', "."))
}

fn parse_properties(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with(['#', '!']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// The texts of the build files of the root and of the module that holds the sources.
fn build_files(root: &Path, sources: &Path) -> Vec<String> {
    let modules = sources.ancestors().skip(1).take_while(|dir| *dir != root).chain([root]);
    let files = modules.flat_map(|dir| BUILD_FILES.map(|name| dir.join(name)));
    // A build file that is not there says nothing.
    files
        .filter_map(|file| std::fs::read(file).ok())
        .map(|b| String::from_utf8_lossy(&b).into_owned())
        .collect()
}

fn class_path(framework: &Framework, bug: &BugId, root: &Path, build_text: &str) -> Vec<PathBuf> {
    let project_dir = framework.project_dir(&bug.project);
    let repository = project_dir.join("lib");
    // What the framework adds to the project's own build, if it says so.
    let own = read(&project_dir.join(format!("{}.build.xml", bug.project))).unwrap_or_default();
    let named = named_jars(&format!("{build_text}\n{own}"), &bug.project);
    let named = named.into_iter().map(|jar| repository.join(jar));
    let mut jars: Vec<PathBuf> = named.filter(|jar| jar.is_file()).collect();
    jars.extend(JAR_DIRS.iter().flat_map(|dir| jars_below(&root.join(dir))));
    if takes_all(&own) {
        jars.extend(newest(jars_below(&repository), &jars));
    }
    jars.push(framework.home().join("framework/projects").join(JUNIT));
    let mut seen = Vec::with_capacity(jars.len());
    for jar in jars {
        if !seen.contains(&jar) && !OF_THE_JDK.contains(&artifact(&jar).0.as_str()) {
            seen.push(jar);
        }
    }
    seen
}

/// The framework's jars that a build file names, relative to the project's own, in order.
fn named_jars(build_text: &str, project: &str) -> Vec<String> {
    let below = format!("/projects/{project}/lib/");
    let mut starts: Vec<usize> = [REPOSITORY, &below]
        .into_iter()
        .flat_map(|mark| build_text.match_indices(mark).map(|(at, mark)| at + mark.len()))
        .collect();
    starts.sort_unstable();
    let ends = ['"', '\'', '<', ' ', '\n', ',', ';'];
    let paths = starts.into_iter().map(|at| build_text[at..].split(ends).next().unwrap_or_default());
    paths.filter(|path| is_jar(Path::new(path)) && !path.contains('$')).map(str::to_owned).collect()
}

/// Whether the framework puts all of the project's jars on its class path: it names their directory in a set of files.
fn takes_all(own_build: &str) -> bool {
    own_build.lines().any(|line| line.contains("<fileset dir=") && line.contains("/lib/\""))
}

fn jars_below(dir: &Path) -> Vec<PathBuf> {
    let files = WalkDir::new(dir).sort_by_file_name().into_iter().filter_map(Result::ok);
    let is_library = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        is_jar(path) && !["-sources", "-src", "-javadoc"].iter().any(|other| stem.ends_with(other))
    };
    files.map(walkdir::DirEntry::into_path).filter(is_library).collect()
}

fn is_jar(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jar")
}

/// Of each library that is not `chosen` already the newest jar.
fn newest(jars: Vec<PathBuf>, chosen: &[PathBuf]) -> Vec<PathBuf> {
    let taken: Vec<String> = chosen.iter().map(|jar| artifact(jar).0).collect();
    let mut best: BTreeMap<String, (Vec<u64>, PathBuf)> = BTreeMap::new();
    for jar in jars {
        let (name, version) = artifact(&jar);
        if taken.contains(&name) || best.get(&name).is_some_and(|(known, _)| *known > version) {
            continue;
        }
        best.insert(name, (version, jar));
    }
    best.into_values().map(|(_, jar)| jar).collect()
}

/// A jar's name without its version, and the version's numbers: `a-b-1.2.3.jar` is `a-b` and 1, 2, 3.
fn artifact(jar: &Path) -> (String, Vec<u64>) {
    let stem = jar.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let starts = stem.match_indices('-').map(|(at, _)| at);
    let at = starts.into_iter().find(|at| stem[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let Some(at) = at else { return (stem, Vec::new()) };
    let numbers = stem[at + 1..].split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
    (stem[..at].to_owned(), numbers.collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::framework;
    use super::*;

    #[test]
    fn jars_that_the_build_names_come_first_and_of_the_others_the_newest() {
        let jars = [
            "lib/g/a/1.9/a-1.9.jar",
            "lib/g/a/1.10/a-1.10.jar",
            "lib/g/b/2.0/b-2.0.jar",
            "lib/g/b/1.0/b-1.0.jar",
        ];
        let mut files: Vec<(&str, &str)> = jars.iter().map(|jar| (*jar, "")).collect();
        files.push(("active-bugs.csv", ""));
        files.push(("P.build.xml", "<fileset dir=\"${d4j.dir.projects}/P/lib/\">"));
        let (_dir, framework) = framework(&files);
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("lib")).unwrap();
        for own in ["own.jar", "own-sources.jar"] {
            std::fs::write(root.path().join("lib").join(own), "").unwrap();
        }
        let text = "<pathelement location=\"${maven.repo.local}/g/b/1.0/b-1.0.jar\"/>";
        let found = class_path(&framework, &"P-1".parse().unwrap(), root.path(), text);
        let names: Vec<_> = found.iter().map(|jar| jar.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["b-1.0.jar", "own.jar", "a-1.10.jar", "junit-4.12-hamcrest-1.3.jar"]);
    }

    #[test]
    fn jars_are_named_by_repository_and_by_path() {
        let text = "<x a=\"${maven.repo.local}/g/b/1/b-1.jar\"/>\n<get src=\"file:///d4j/framework/projects/P/lib/c.jar\"/>\n\
                    <x a=\"${d4j.home}/framework/projects/Q/lib/d.jar\"/><x a=\"${maven.repo.local}/${e}.jar\"/>";
        assert_eq!(named_jars(text, "P"), ["g/b/1/b-1.jar", "c.jar"]);
        assert!(!takes_all("<property name=\"x\" value=\"${d4j.dir.projects}/P/lib/\"/>"));
    }

    #[test]
    fn properties_tell_roots_and_tests_left_out() {
        let (_dir, framework) = framework(&[("active-bugs.csv", "")]);
        let root = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            std::fs::write(root.path().join("defects4j.build.properties"), text).unwrap();
            read_layout(&framework, &"P-1".parse().unwrap(), root.path())
        };
        let layout = read(
            "#made\nd4j.dir.src.classes=src/java\nd4j.dir.src.tests=src/test\nd4j.tests.exclude=a/BTest.java,c/D.java\n",
        )
        .unwrap();
        assert_eq!(layout.sources, [root.path().join("src/java")]);
        assert_eq!(layout.excluded_tests, ["a.BTest", "c.D"]);
        let error = read("d4j.dir.src.classes=src\n").unwrap_err().to_string();
        assert!(error.ends_with("it lacks `d4j.dir.src.tests`"), "{error}");
    }
}
