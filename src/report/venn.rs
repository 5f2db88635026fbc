//! Which tools mend the same bugs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::ReportError;

/// Bugs by tool.
pub type Lists = BTreeMap<String, BTreeSet<String>>;

/// Bugs that exactly these tools have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Region {
    /// The tools.
    pub tools: Vec<String>,
    /// Their bugs.
    pub bugs: Vec<String>,
}

/// The regions of a Venn diagram, the largest first.
pub fn regions(lists: &Lists) -> Vec<Region> {
    let bugs: BTreeSet<&String> = lists.values().flatten().collect();
    let mut regions: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for bug in bugs {
        let tools =
            lists.iter().filter(|(_, bugs)| bugs.contains(bug)).map(|(tool, _)| tool.clone()).collect();
        regions.entry(tools).or_default().push(bug.clone());
    }
    let mut regions: Vec<Region> = regions.into_iter().map(|(tools, bugs)| Region { tools, bugs }).collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.bugs.len()));
    regions
}

/// Reads other tools' lists: CSV with a line `tool,bug` for each, or JSON with an object of arrays.
pub fn read_lists(file: &Path) -> Result<Lists, ReportError> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| ReportError::List { file: file.to_owned(), reason: source.to_string() })?;
    let malformed = |reason: String| ReportError::List { file: PathBuf::from(file), reason };
    if file.extension().is_some_and(|extension| extension == "json") {
        return serde_json::from_str(&text).map_err(|error| malformed(error.to_string()));
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut lists = Lists::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(error.to_string()))?;
        match (record.get(0), record.get(1)) {
            (Some("tool"), Some("bug")) => {}
            (Some(tool), Some(bug)) => {
                lists.entry(tool.to_owned()).or_default().insert(bug.trim().to_owned());
            }
            _ => return Err(malformed("a line is not `tool,bug`".to_owned())),
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_is_in_one_region() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lists.csv");
        std::fs::write(&file, "tool,bug\na,X-1\na,X-2\nb,X-2\nb,X-3\nb,X-4\n").unwrap();
        let regions = regions(&read_lists(&file).unwrap());
        let shown: Vec<String> =
            regions.iter().map(|r| format!("{}: {}", r.tools.join("+"), r.bugs.join(","))).collect();
        assert_eq!(shown, ["b: X-3,X-4", "a: X-1", "a+b: X-2"]);
    }
}
