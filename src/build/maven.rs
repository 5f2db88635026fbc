//! Maven projects: one call of Maven describes them.
//!
//! The plugins are named with their versions and write to the scratch directory only; the project's tree, `target`
//! included, stays as it is. Downloads go where Maven always puts them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use roxmltree::{Document, Node};

use super::{BuildError, Description, parse_level, reactor};
use crate::process::{self, End, Finished, Interrupt, Spec};

const DEPENDENCY_PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
const HELP_PLUGIN: &str = "org.apache.maven.plugins:maven-help-plugin:3.5.1:effective-pom";
/// Enough for a first call that downloads plugins and dependencies over a slow line.
const DEADLINE: Duration = Duration::from_secs(600);
/// What the compiler plugin takes from 3.11 on when the POM is silent; older ones take levels that no JDK compiles.
const DEFAULT_LEVEL: u32 = 8;
/// Error lines shown: the first says what failed, the last ones only where to read on.
const TAIL_LINES: usize = 6;

pub(super) fn describe(
    root: &Path,
    mvn: Option<&Path>,
    java_home: Option<&Path>,
    scratch: &Path,
    interrupt: &Interrupt,
) -> Result<Description, BuildError> {
    let pom = root.join("pom.xml");
    if !pom.is_file() {
        return Err(BuildError::Missing { what: "POM", path: pom });
    }
    let mvn = mvn.ok_or_else(|| BuildError::NoMaven(pom.clone()))?;
    let maven = Maven { mvn, java_home, scratch, interrupt };
    if joins_modules(&pom)? {
        return reactor::describe(&pom, &maven);
    }
    let (class_path_file, effective_file) = (scratch.join("class-path"), scratch.join("effective-pom.xml"));
    let spec = maven
        .spec(&pom)
        .args([DEPENDENCY_PLUGIN, HELP_PLUGIN, "-Dmdep.includeScope=test"])
        .arg(format!("-Dmdep.outputFile={}", class_path_file.display()))
        .arg(format!("-Doutput={}", effective_file.display()));
    maven.run(&spec)?;
    let mut description = read_effective_pom(&read(&effective_file)?, &pom)?;
    description.class_path = read_class_path(&class_path_file)?;
    Ok(description)
}

/// How Maven is called.
pub(super) struct Maven<'a> {
    mvn: &'a Path,
    java_home: Option<&'a Path>,
    pub(super) scratch: &'a Path,
    interrupt: &'a Interrupt,
}

impl Maven<'_> {
    /// What Maven makes of a POM and all that it inherits; of its modules too.
    pub(super) fn effective_pom(&self, pom: &Path) -> Result<String, BuildError> {
        let file = self.scratch.join("effective-pom.xml");
        self.run(&self.spec(pom).arg(HELP_PLUGIN).arg(format!("-Doutput={}", file.display())))?;
        read(&file)
    }

    /// The jars of a POM, those of its tests included.
    pub(super) fn class_path(&self, pom: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let file = self.scratch.join("class-path");
        let output = format!("-Dmdep.outputFile={}", file.display());
        self.run(&self.spec(pom).args([DEPENDENCY_PLUGIN, "-Dmdep.includeScope=test"]).arg(output))?;
        read_class_path(&file)
    }

    /// Writes a file of our own, in the scratch directory.
    pub(super) fn write(&self, path: &Path, text: &str) -> Result<(), BuildError> {
        let io = |source| BuildError::Io { action: "write", path: path.to_owned(), source };
        std::fs::create_dir_all(path.parent().unwrap_or(self.scratch)).map_err(io)?;
        std::fs::write(path, text).map_err(io)
    }

    fn spec(&self, pom: &Path) -> Spec {
        let spec = Spec::new(self.mvn, self.scratch, DEADLINE)
            .args(["-B", "-q", "-Dstyle.color=never", "-f"])
            .arg(pom)
            .inherit(&["PATH", "HOME", "MAVEN_OPTS", "MAVEN_ARGS", "http_proxy", "https_proxy", "no_proxy"])
            .env("LC_ALL", "C.UTF-8");
        match self.java_home {
            Some(java_home) => spec.env("JAVA_HOME", java_home),
            None => spec,
        }
    }

    fn run(&self, spec: &Spec) -> Result<(), BuildError> {
        let finished = process::run(spec, self.interrupt)?;
        if finished.success() { Ok(()) } else { Err(failure(spec, &finished)) }
    }
}

fn read_class_path(file: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let text = read(file)?;
    Ok(text.trim().split(':').filter(|entry| !entry.is_empty()).map(PathBuf::from).collect())
}

fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|source| BuildError::Io {
        action: "read Maven's answer",
        path: path.to_owned(),
        source,
    })
}

/// Whether a POM joins modules; then it has no sources of its own.
fn joins_modules(pom: &Path) -> Result<bool, BuildError> {
    let text = read(pom)?;
    let document =
        Document::parse(&text).map_err(|source| BuildError::Pom { pom: pom.to_owned(), source })?;
    let mut modules = children(path(document.root_element(), &["modules"]), "module");
    Ok(modules.any(|module| text_of(Some(module)).is_some()))
}

fn failure(spec: &Spec, finished: &Finished) -> BuildError {
    let end = match finished.end {
        End::Exit(status) => format!("exited with status {status}"),
        End::Signal(signal) => format!("was ended by signal {signal}"),
        End::Deadline => format!("did not end within {} s", DEADLINE.as_secs()),
    };
    // Maven writes its errors to standard output, the launcher and the JVM theirs to standard error.
    let text = String::from_utf8_lossy(&finished.stdout);
    let errors: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[ERROR] "))
        .filter(|line| !line.trim().is_empty())
        .take(TAIL_LINES)
        .collect();
    let tail = if errors.is_empty() { finished.tail(TAIL_LINES) } else { errors.join("\n") };
    BuildError::Maven { command: spec.line(), end, tail }
}

/// Everything but the class path.
fn read_effective_pom(text: &str, pom: &Path) -> Result<Description, BuildError> {
    let document = Document::parse(text).map_err(|source| BuildError::Pom { pom: pom.to_owned(), source })?;
    read_project(document.root_element())
}

/// Everything but the class path, of one project of an effective POM.
pub(super) fn read_project(project: Node) -> Result<Description, BuildError> {
    let build = path(project, &["build"]);
    let directories = |tag: &str| -> Vec<PathBuf> {
        text_of(build.and_then(|build| path(build, &[tag]))).map(PathBuf::from).into_iter().collect()
    };
    let mut resources = Vec::new();
    for (list, item) in [("testResources", "testResource"), ("resources", "resource")] {
        let items = children(build.and_then(|build| path(build, &[list])), item);
        resources.extend(items.filter_map(|item| text_of(path(item, &["directory"]))).map(PathBuf::from));
    }
    let added = |goal, tag| added_by_build_helper(build, goal, tag);
    let settings = CompilerSettings { project, plugin: plugin(build, "maven-compiler-plugin") };
    let level = ["release", "source"].iter().find_map(|name| settings.get(name));
    Ok(Description {
        sources: [directories("sourceDirectory"), added("add-source", "sources")].concat(),
        tests: [directories("testSourceDirectory"), added("add-test-source", "sources")].concat(),
        resources,
        class_path: Vec::new(),
        excludes: settings.list("excludes", "default-compile"),
        test_excludes: settings.list("testExcludes", "default-testCompile"),
        level: Some(level.map_or(Ok(DEFAULT_LEVEL), parse_level)?),
        encoding: settings.encoding().map(str::to_owned),
    })
}

/// Where the compiler plugin takes its settings from: its own configuration, then properties.
struct CompilerSettings<'a, 'i> {
    project: Node<'a, 'i>,
    plugin: Option<Node<'a, 'i>>,
}

impl<'a, 'i> CompilerSettings<'a, 'i> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let configured = self.configured(name, "default-compile");
        text_of(configured).or_else(|| self.property(&format!("maven.compiler.{name}")))
    }

    fn list(&self, name: &str, execution: &str) -> Vec<String> {
        let items = self.configured(name, execution).into_iter().flat_map(|list| list.children());
        items.filter_map(|item| text_of(Some(item).filter(Node::is_element))).map(str::to_owned).collect()
    }

    /// An element of the configuration of one execution, or else of the plugin's own.
    fn configured(&self, name: &str, execution: &str) -> Option<Node<'a, 'i>> {
        let plugin = self.plugin?;
        let own = children(path(plugin, &["executions"]), "execution")
            .find(|node| text_of(path(*node, &["id"])) == Some(execution));
        [own, Some(plugin)].into_iter().flatten().find_map(|node| path(node, &["configuration", name]))
    }

    fn encoding(&self) -> Option<&'a str> {
        let configured = self.plugin.and_then(|plugin| text_of(path(plugin, &["configuration", "encoding"])));
        configured
            .or_else(|| self.property("encoding"))
            .or_else(|| self.property("project.build.sourceEncoding"))
    }

    fn property(&self, name: &str) -> Option<&'a str> {
        text_of(path(self.project, &["properties", name]))
    }
}

fn added_by_build_helper(build: Option<Node>, goal: &str, tag: &str) -> Vec<PathBuf> {
    let executions = plugin(build, "build-helper-maven-plugin")
        .into_iter()
        .flat_map(|plugin| children(path(plugin, &["executions"]), "execution"));
    let with_goal = executions
        .filter(|run| children(path(*run, &["goals"]), "goal").any(|node| text_of(Some(node)) == Some(goal)));
    with_goal
        .filter_map(|run| path(run, &["configuration", tag]))
        .flat_map(|list| list.children().filter(Node::is_element))
        .filter_map(|node| text_of(Some(node)))
        .map(PathBuf::from)
        .collect()
}

fn plugin<'a, 'i>(build: Option<Node<'a, 'i>>, artifact: &str) -> Option<Node<'a, 'i>> {
    children(path(build?, &["plugins"]), "plugin")
        .find(|plugin| text_of(path(*plugin, &["artifactId"])) == Some(artifact))
}

/// The first child with each name in turn; namespaces do not matter in a POM.
pub(super) fn path<'a, 'i>(node: Node<'a, 'i>, names: &[&str]) -> Option<Node<'a, 'i>> {
    names.iter().try_fold(node, |node, name| children(Some(node), name).next())
}

pub(super) fn children<'a, 'i, 'n>(
    node: Option<Node<'a, 'i>>,
    name: &'n str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i, 'n> {
    node.into_iter()
        .flat_map(|node| node.children())
        .filter(move |child| child.is_element() && child.tag_name().name() == name)
}

pub(super) fn text_of<'a>(node: Option<Node<'a, '_>>) -> Option<&'a str> {
    node?.text().map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(inside: &str) -> Description {
        let text = format!("<project xmlns=\"http://maven.apache.org/POM/4.0.0\">{inside}</project>");
        read_effective_pom(&text, Path::new("pom.xml")).unwrap()
    }

    fn compiler(configuration: &str) -> String {
        format!(
            "<build><plugins><plugin><artifactId>maven-compiler-plugin</artifactId>{configuration}</plugin>\
             </plugins></build>"
        )
    }

    #[test]
    fn the_release_goes_before_the_source_level() {
        let found =
            check(&compiler("<configuration><source>1.8</source><release>11</release></configuration>"));
        assert_eq!(found.level, Some(11));
    }

    #[test]
    fn properties_set_what_the_plugin_does_not() {
        let properties = "<properties><maven.compiler.source>1.7</maven.compiler.source>\
             <project.build.sourceEncoding>ISO-8859-1</project.build.sourceEncoding></properties>";
        let found = check(&(properties.to_owned() + &compiler("")));
        assert_eq!((found.level, found.encoding.as_deref()), (Some(7), Some("ISO-8859-1")));
    }

    #[test]
    fn patterns_of_sources_that_are_not_compiled_are_read() {
        let found = check(&compiler(
            "<configuration><testExcludes><testExclude>**/*Benchmark*</testExclude></testExcludes>\
             </configuration><executions><execution><id>default-compile</id><configuration>\
             <excludes><exclude>a/</exclude></excludes></configuration></execution></executions>",
        ));
        assert_eq!((found.excludes, found.test_excludes), (vec!["a/".into()], vec!["**/*Benchmark*".into()]));
    }

    #[test]
    fn a_silent_pom_means_java_8() {
        assert_eq!(check("").level, Some(DEFAULT_LEVEL));
    }

    #[test]
    fn directories_come_in_the_order_of_maven() {
        let found = check(
            "<build><sourceDirectory>/p/src</sourceDirectory><testSourceDirectory>/p/test</testSourceDirectory>\
             <resources><resource><directory>/p/res</directory></resource></resources>\
             <testResources><testResource><directory>/p/test-res</directory></testResource></testResources>\
             <plugins><plugin><artifactId>build-helper-maven-plugin</artifactId><executions><execution>\
             <goals><goal>add-source</goal></goals><configuration><sources><source>/p/more</source></sources>\
             </configuration></execution></executions></plugin></plugins></build>",
        );
        assert_eq!(found.sources, [PathBuf::from("/p/src"), PathBuf::from("/p/more")]);
        assert_eq!(found.tests, [PathBuf::from("/p/test")]);
        assert_eq!(found.resources, [PathBuf::from("/p/test-res"), PathBuf::from("/p/res")]);
    }

    #[test]
    fn a_pom_that_joins_modules_is_told_from_others() {
        let dir = tempfile::tempdir().unwrap();
        let pom = dir.path().join("pom.xml");
        let joins = |inside: &str| {
            std::fs::write(&pom, format!("<project>{inside}</project>")).unwrap();
            joins_modules(&pom).unwrap()
        };
        assert!(joins("<modules><module>a</module></modules>"));
        assert!(!joins("<modules/>") && !joins(""));
    }

    #[test]
    fn a_broken_pom_is_an_error_and_names_the_file() {
        let error = read_effective_pom("<project>", Path::new("/p/pom.xml")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the effective POM of `/p/pom.xml`");
    }
}
