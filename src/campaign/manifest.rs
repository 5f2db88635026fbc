//! What a run was made from. Equal inputs give equal samples, so a run goes on only with the inputs that it began with.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use crate::bug::Lines;
use crate::config::flags::{ContextMode, TemplateMode};
use crate::decode::Settings;
use crate::decode::oracle::Guidance;
use crate::decode::proposer::Truncation;
use crate::digest::sha256;
use crate::java::project::Project;
use crate::java::test_id::TestId;
use crate::model::Identity;
use crate::record::{RecordError, RunDir};

/// A run directory that belongs to other inputs.
#[derive(Debug, thiserror::Error)]
#[error("run directory `{}` holds a run with another {what}: choose another with --run-dir, or drop it with --fresh", .dir.display())]
pub struct OtherRun {
    /// The directory.
    pub dir: PathBuf,
    /// The first input that differs.
    pub what: String,
}

/// Everything that decides on the samples and the verdicts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Inputs {
    pub version: String,
    pub file: PathBuf,
    pub file_sha256: String,
    pub lines: Lines,
    pub tests: Vec<TestId>,
    pub seed: u64,
    pub truncation: Truncation,
    pub max_tokens: usize,
    pub guidance: Guidance,
    pub with_replacement: bool,
    pub context: ContextMode,
    pub prior: bool,
    pub templates: TemplateMode,
    pub model_sha256: String,
    pub bundle_sha256: String,
    pub level: u32,
    pub encoding: String,
    pub class_path: Vec<PathBuf>,
    pub jdk: String,
    pub sandbox: String,
}

/// `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub inputs: Inputs,
    pub model: Identity,
    pub server: String,
    pub project: PathBuf,
    pub build_tool: String,
    pub jdk_home: PathBuf,
    pub operating_system: String,
    pub architecture: String,
    pub prompt: serde_json::Value,
    pub environment: Environment,
}

/// What the inputs are taken from.
pub struct Sources<'a> {
    pub file: &'a Path,
    pub file_bytes: &'a [u8],
    pub lines: Lines,
    pub tests: &'a [TestId],
    pub search: &'a Settings,
    pub guidance: Guidance,
    pub with_replacement: bool,
    pub context: ContextMode,
    pub prior: bool,
    pub templates: TemplateMode,
    pub model: &'a Identity,
    pub bundle: &'a Path,
    pub project: &'a Project,
    pub sandbox: String,
}

impl Inputs {
    pub fn new(from: &Sources) -> Result<Self, RecordError> {
        let bundle = std::fs::read(from.bundle).map_err(|source| RecordError::Io {
            action: "read",
            path: from.bundle.to_owned(),
            source,
        })?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file: from.file.to_owned(),
            file_sha256: sha256(from.file_bytes),
            lines: from.lines,
            tests: from.tests.to_vec(),
            seed: from.search.seed,
            truncation: from.search.truncation,
            max_tokens: from.search.max_tokens,
            guidance: from.guidance,
            with_replacement: from.with_replacement,
            context: from.context,
            prior: from.prior,
            templates: from.templates,
            model_sha256: from.model.sha256.clone(),
            bundle_sha256: sha256(&bundle),
            level: from.project.level,
            encoding: from.project.encoding.clone(),
            class_path: from.project.class_path.clone(),
            jdk: from.project.jdk.feature.to_string(),
            sandbox: from.sandbox.clone(),
        })
    }
}

/// Writes the manifest of a new run, or compares it with the one that is there.
pub fn settle(run: &RunDir, name: &str, manifest: &Manifest) -> anyhow::Result<()> {
    if let Some(old) = run.read::<serde_json::Value>(name)? {
        let new = serde_json::to_value(&manifest.inputs).expect("records are plain data");
        if let Some(what) = first_difference(&old["inputs"], &new) {
            return Err(OtherRun { dir: run.root().to_owned(), what }.into());
        }
        return Ok(());
    }
    Ok(run.write(name, manifest)?)
}

fn first_difference(old: &serde_json::Value, new: &serde_json::Value) -> Option<String> {
    let differing = new.as_object()?.iter().find(|(key, value)| old.get(key.as_str()) != Some(*value));
    differing.map(|(key, _)| key.replace('_', " "))
}

/// A project that is not what the run was made on.
#[derive(Debug, thiserror::Error)]
#[error("the run in `{}` was made with another {what}: its samples cannot be judged here", .dir.display())]
pub struct OtherProject {
    /// The run directory.
    pub dir: PathBuf,
    /// What differs.
    pub what: &'static str,
}

/// An error unless everything that decides on verdicts is as it was when the run began.
pub fn require_same(
    run: &RunDir,
    file: &Path,
    file_bytes: &[u8],
    project: &Project,
    sandbox: &str,
) -> anyhow::Result<()> {
    let old = run.read::<serde_json::Value>("manifest.json")?.unwrap_or_default();
    let now = serde_json::json!({
        "file": file,
        "file_sha256": sha256(file_bytes),
        "level": project.level,
        "encoding": project.encoding,
        "class_path": project.class_path,
        "jdk": project.jdk.feature.to_string(),
        "sandbox": sandbox,
    });
    let names = [
        ("file", "file"),
        ("file_sha256", "text of the file"),
        ("level", "language level"),
        ("encoding", "charset"),
        ("class_path", "class path"),
        ("jdk", "JDK"),
        ("sandbox", "sandbox"),
    ];
    match names.into_iter().find(|(key, _)| old["inputs"][key] != now[key]) {
        Some((_, what)) => Err(OtherProject { dir: run.root().to_owned(), what }.into()),
        None => Ok(()),
    }
}
