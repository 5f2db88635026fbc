//! Reads the sources of a project from disk: the only place of `retrieval` that does.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::grammar;
use super::index::Source;

/// Why sources could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// A directory could not be listed.
    #[error("cannot list the sources in {}", .root.display())]
    List {
        /// The source root.
        root: PathBuf,
        /// What the system said.
        #[source]
        source: walkdir::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Reads all files below `roots` that a grammar is known for, each once, in the order of their paths. Paths are relative to
/// `project` where they lie in it. Which files are left out: see [`source_files`]. `decode` turns bytes into text, as it
/// does for the file with the hole.
pub fn read_sources(
    project: &Path,
    roots: &[PathBuf],
    decode: &dyn Fn(&[u8]) -> String,
) -> Result<Vec<Source>, SourcesError> {
    let mut sources = Vec::new();
    for root in roots {
        for path in source_files(root)? {
            let bytes = read(&path)?;
            sources.push(Source { path: name_in(project, &path), text: decode(&bytes) });
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources.dedup_by(|a, b| a.path == b.path);
    Ok(sources)
}

/// Files below `root` that a grammar is known for, in the order of their paths. Hidden directories, those of version
/// control above all, and what a build puts out are not entered, links are not followed.
pub fn source_files(root: &Path) -> Result<Vec<PathBuf>, SourcesError> {
    // The root itself may bear any name.
    let walk = WalkDir::new(root).into_iter().filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry));
    let mut files = Vec::new();
    for entry in walk {
        let entry = entry.map_err(|source| SourcesError::List { root: root.to_owned(), source })?;
        if entry.file_type().is_file() && grammar::for_path(&entry.path().to_string_lossy()).is_some() {
            files.push(entry.into_path());
        }
    }
    files.sort();
    Ok(files)
}

/// The bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, SourcesError> {
    std::fs::read(path).map_err(|source| SourcesError::Read { path: path.to_owned(), source })
}

/// Directories that builds and package managers fill, by the file beside them that tells so: a package may well be
/// called `build`.
const OUTPUT: [(&str, &[&str]); 6] = [
    ("target", &["pom.xml", "Cargo.toml", "build.sbt"]),
    ("build", &["build.gradle", "build.gradle.kts", "build.xml", "pom.xml", "setup.py", "pyproject.toml"]),
    ("bin", &["build.gradle", "build.gradle.kts", ".classpath"]),
    ("out", &["build.gradle", "build.gradle.kts", "build.xml"]),
    ("dist", &["package.json", "setup.py", "pyproject.toml", "build.xml"]),
    ("obj", &["Directory.Build.props", "packages.config"]),
];

fn is_left_out(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let is_output = || {
        let beside = entry.path().parent().unwrap_or(Path::new(""));
        let marks = OUTPUT.iter().filter(|(output, _)| *output == name).flat_map(|(_, marks)| *marks);
        marks.into_iter().any(|mark| beside.join(mark).is_file())
            || ["CACHEDIR.TAG", "pyvenv.cfg"].iter().any(|mark| entry.path().join(mark).is_file())
    };
    entry.file_type().is_dir()
        && (name.starts_with('.') || ["CVS", "node_modules", "__pycache__"].contains(&&*name) || is_output())
}

pub(super) fn name_in(project: &Path, path: &Path) -> String {
    let path = path.strip_prefix(project).unwrap_or(path);
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[&str], roots: &[&str], expected: &[&str]) {
        let project = tempfile::tempdir().unwrap();
        for file in files {
            let path = project.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        let roots: Vec<PathBuf> = roots.iter().map(|root| project.path().join(root)).collect();
        let decode = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let sources = read_sources(project.path(), &roots, &decode).unwrap();
        assert!(sources.iter().all(|source| source.text == source.path));
        assert_eq!(sources.iter().map(|source| source.path.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn files_come_once_in_the_order_of_their_paths() {
        check(&["b/B.java", "a/A.java", "a/notes.txt"], &["b", "a", "a"], &["a/A.java", "b/B.java"]);
    }

    #[test]
    fn version_control_is_not_read() {
        check(
            &["src/.git/A.java", "src/.svn/text-base/A.java", "src/CVS/A.java", "src/A.java"],
            &["src"],
            &["src/A.java"],
        );
    }

    #[test]
    fn what_a_build_puts_out_is_not_read_but_a_package_of_that_name_is() {
        check(
            &["pom.xml", "target/generated-sources/A.java", "src/a/build/B.java", "src/a/target/C.java"],
            &[""],
            &["src/a/build/B.java", "src/a/target/C.java"],
        );
        check(&["web/node_modules/a.ts", "py/__pycache__/b.py", "c.ts"], &[""], &["c.ts"]);
    }

    #[test]
    fn a_missing_root_is_named() {
        let error = read_sources(Path::new("/"), &["/no/such".into()], &|_| String::new()).unwrap_err();
        assert_eq!(error.to_string(), "cannot list the sources in /no/such");
    }
}
