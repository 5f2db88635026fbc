//! Maven projects of several modules: all of them together are one project.
//!
//! Modules need each other's classes, which nobody has built; so the sources of all modules are compiled together, and
//! Maven is asked for the jars of what they need from elsewhere, by a POM of our own in the scratch directory.

use std::collections::BTreeSet;
use std::path::Path;

use roxmltree::{Document, Node};

use super::maven::{Maven, children, path, read_project, text_of};
use super::{BuildError, Description};

/// Where a dependency's coordinates stand in its element.
const COORDINATES: [&str; 4] = ["groupId", "artifactId", "type", "classifier"];

/// Describes a POM that joins modules.
pub(super) fn describe(pom: &Path, maven: &Maven) -> Result<Description, BuildError> {
    let text = maven.effective_pom(pom)?;
    let document =
        Document::parse(&text).map_err(|source| BuildError::Pom { pom: pom.to_owned(), source })?;
    let all: Vec<Node> = children(Some(document.root_element()), "project").collect();
    let is_code = |node: &&Node| text_of(path(**node, &["packaging"])) != Some("pom");
    let mut whole = Description::default();
    for module in all.iter().filter(is_code) {
        join(&mut whole, read_project(*module)?);
    }
    let own_pom = maven.scratch.join("modules").join("pom.xml");
    maven.write(&own_pom, &pom_of_needs(&text, &all))?;
    whole.class_path = maven.class_path(&own_pom)?;
    Ok(whole)
}

/// Adds a module. The highest level counts, so that all of them compile.
fn join(whole: &mut Description, module: Description) {
    whole.sources.extend(module.sources);
    whole.tests.extend(module.tests);
    whole.resources.extend(module.resources);
    whole.excludes.extend(module.excludes);
    whole.test_excludes.extend(module.test_excludes);
    whole.level = whole.level.max(module.level);
    whole.encoding = whole.encoding.take().or(module.encoding);
}

/// A POM that needs what any of the modules needs from elsewhere. The elements are Maven's own text.
fn pom_of_needs(text: &str, all: &[Node]) -> String {
    let own: BTreeSet<Vec<Option<&str>>> = all.iter().map(|module| coordinates(*module, 2)).collect();
    let mut taken = BTreeSet::new();
    let mut dependencies = String::new();
    for module in all {
        for dependency in children(path(*module, &["dependencies"]), "dependency") {
            let is_own = own.contains(&coordinates(dependency, 2));
            if !is_own && taken.insert(coordinates(dependency, COORDINATES.len())) {
                dependencies += &text[dependency.range()];
            }
        }
    }
    let part = |name: &str| {
        let first = all.iter().find_map(|module| path(*module, &[name]));
        first.map(|node| text[node.range()].to_owned()).unwrap_or_default()
    };
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>modules</groupId><artifactId>modules</artifactId><version>1</version><packaging>pom</packaging>\
         {}{}<dependencies>{dependencies}</dependencies></project>",
        part("repositories"),
        part("dependencyManagement"),
    )
}

fn coordinates<'a>(node: Node<'a, '_>, n: usize) -> Vec<Option<&'a str>> {
    COORDINATES[..n].iter().map(|name| text_of(path(node, &[name]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_need_from_elsewhere_what_is_no_module() {
        let dependency = |artifact: &str, more: &str| {
            format!("<dependency><groupId>g</groupId><artifactId>{artifact}</artifactId>{more}</dependency>")
        };
        let module = |artifact: &str, needs: &[String]| {
            format!(
                "<project><groupId>g</groupId><artifactId>{artifact}</artifactId><dependencies>{}</dependencies>\
                 </project>",
                needs.concat()
            )
        };
        let text = format!(
            "<projects>{}{}</projects>",
            module("a", &[dependency("x", "<scope>test</scope>")]),
            module(
                "b",
                &[dependency("a", ""), dependency("x", ""), dependency("x", "<classifier>c</classifier>")]
            )
        );
        let document = Document::parse(&text).unwrap();
        let all: Vec<Node> = children(Some(document.root_element()), "project").collect();
        let pom = pom_of_needs(&text, &all);
        assert_eq!(pom.matches("<dependency>").count(), 2, "{pom}");
        assert!(!pom.contains("<artifactId>a</artifactId>"), "{pom}");
    }
}
