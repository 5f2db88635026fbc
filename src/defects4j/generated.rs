//! Classes and files that a project's own build makes before or after it compiles the sources.
//!
//! Two projects do: Closure gives an old parser of another project new package names and moves a file, Time compiles its
//! time zones.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::Defects4jError;

/// Where Closure's parser comes from.
const PARSER_PACKAGE: &str = "org.mozilla.javascript";
/// The lists of time zones that Time's build compiles (`framework/projects/Time/Time.build.xml`).
const ZONES: [&str; 11] = [
    "africa",
    "antarctica",
    "asia",
    "australasia",
    "europe",
    "northamerica",
    "southamerica",
    "pacificnew",
    "etcetera",
    "backward",
    "systemv",
];

/// Sources to compile beside the project's own; what comes out goes on the class path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// Root of the sources, with the new package names.
    pub sources: PathBuf,
}

/// A program of the project that makes files for the class path once the sources are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maker {
    /// Class with `main`.
    pub class: &'static str,
    /// System properties.
    pub properties: Vec<String>,
    /// Its arguments but for the directory that it writes to.
    pub before: Vec<String>,
    /// Where it writes, relative to the class path entry.
    pub out: &'static str,
    /// Arguments after that directory.
    pub after: Vec<String>,
}

/// Writes the renamed copy of Closure's parser to `to`; `None` where there is nothing to rename.
pub fn rename_parser(root: &Path, to: &Path) -> Result<Option<Renamed>, Defects4jError> {
    let build_file = root.join("build.xml");
    let Ok(text) = std::fs::read_to_string(&build_file) else { return Ok(None) };
    let Some(new_package) = new_package(&text) else { return Ok(None) };
    let Some(sources) = parser_sources(root) else { return Ok(None) };
    for entry in WalkDir::new(&sources).into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file())
    {
        let below =
            entry.path().strip_prefix(&sources).unwrap_or(entry.path()).to_string_lossy().into_owned();
        let below = below.replace(&as_path(PARSER_PACKAGE), &as_path(&new_package));
        let bytes = std::fs::read(entry.path()).map_err(Defects4jError::io("read", entry.path()))?;
        let target = to.join(below);
        let write = || {
            std::fs::create_dir_all(target.parent().unwrap_or(to))?;
            std::fs::write(&target, rename(&bytes, &new_package))
        };
        write().map_err(Defects4jError::io("write", &target))?;
    }
    Ok(Some(Renamed { sources: to.to_owned() }))
}

/// Names in code and in strings, as the build's own tool renames them.
fn rename(bytes: &[u8], new_package: &str) -> Vec<u8> {
    // Every byte is a character, so that the other bytes stay what they are.
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let text = text.replace(PARSER_PACKAGE, new_package);
    let text = text.replace(&as_path(PARSER_PACKAGE), &as_path(new_package));
    text.chars().map(|c| c as u8).collect()
}

fn as_path(package: &str) -> String {
    package.replace('.', "/")
}

/// The package in `<rule pattern="org.mozilla.javascript.**" result="PACKAGE.@1"/>`.
fn new_package(build_text: &str) -> Option<String> {
    let rest = build_text.split(&format!("{PARSER_PACKAGE}.**\"")).nth(1)?.split("result=\"").nth(1)?;
    Some(rest.split('"').next()?.strip_suffix(".@1")?.to_owned())
}

/// The parser's main sources: a directory `src` that holds its package.
fn parser_sources(root: &Path) -> Option<PathBuf> {
    let dirs = WalkDir::new(root.join("lib/rhino")).sort_by_file_name().into_iter().filter_map(Result::ok);
    let mut dirs = dirs.filter(|entry| entry.file_type().is_dir() && entry.file_name() == "src");
    dirs.find(|dir| dir.path().join(as_path(PARSER_PACKAGE)).is_dir()).map(walkdir::DirEntry::into_path)
}

/// Files that Closure's build puts at another place of the class path: where they are, and where they go.
///
/// `<copy file="${src.dir}/FILE" todir="${classes.dir}/DIRECTORY/"/>`
pub fn moved_files(root: &Path) -> Vec<(PathBuf, PathBuf)> {
    let text = std::fs::read_to_string(root.join("build.xml")).unwrap_or_default();
    let copies = text.split("<copy file=\"${src.dir}/").skip(1);
    let pairs = copies.filter_map(|copy| {
        let (file, rest) = copy.split_once('"')?;
        let (between, target) = rest.split_once("todir=\"${classes.dir}/")?;
        let target = target.split('"').next().filter(|_| !between.contains('<'))?;
        let file = Path::new(file);
        Some((root.join("src").join(file), Path::new(target).join(file.file_name()?)))
    });
    pairs.filter(|(from, _)| from.is_file()).collect()
}

/// What compiles Time's time zones; `None` for projects without.
pub fn zone_compiler(sources: &[PathBuf]) -> Option<Maker> {
    let lists = sources.iter().map(|root| root.join("org/joda/time/tz/src")).find(|dir| dir.is_dir())?;
    let zones = ZONES.iter().filter(|zone| lists.join(zone).is_file());
    Some(Maker {
        class: "org.joda.time.tz.ZoneInfoCompiler",
        properties: vec!["-Dorg.joda.time.DateTimeZone.Provider=org.joda.time.tz.UTCProvider".to_owned()],
        before: vec!["-src".to_owned(), lists.to_string_lossy().into_owned(), "-dst".to_owned()],
        out: "org/joda/time/tz/data",
        after: zones.map(ToString::to_string).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_gets_the_package_that_the_build_gives_it() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &[u8]| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("build.xml", b"<rule pattern=\"org.mozilla.javascript.**\"\n result=\"a.b.@1\"/>");
        put(
            "lib/rhino/src/mozilla/src/org/mozilla/javascript/Node.java",
            b"package org.mozilla.javascript; // \xe4\nString s = \"org/mozilla/javascript/x\";",
        );
        put("lib/rhino/toolsrc/org/mozilla/javascript/tools/Main.java", b"");
        let to = tempfile::tempdir().unwrap();
        assert!(rename_parser(root.path(), to.path()).unwrap().is_some());
        let text = std::fs::read(to.path().join("a/b/Node.java")).unwrap();
        assert_eq!(text, b"package a.b; // \xe4\nString s = \"a/b/x\";");
    }

    #[test]
    fn files_that_the_build_moves_are_found() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("src/a")).unwrap();
        std::fs::write(root.path().join("src/a/M.properties"), "").unwrap();
        let text = "<copy file=\"${src.dir}/a/M.properties\"\n todir=\"${classes.dir}/x/a/\" />\n<copy file=\"${src.dir}/b\"/>";
        std::fs::write(root.path().join("build.xml"), text).unwrap();
        let from = root.path().join("src/a/M.properties");
        assert_eq!(moved_files(root.path()), [(from, PathBuf::from("x/a/M.properties"))]);
    }

    #[test]
    fn a_build_that_renames_nothing_makes_nothing() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("build.xml"), "<project/>").unwrap();
        assert_eq!(rename_parser(root.path(), root.path()).unwrap(), None);
        assert_eq!(zone_compiler(&[root.path().to_owned()]), None);
    }
}
