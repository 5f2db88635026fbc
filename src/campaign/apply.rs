//! Writing a patch into the user's tree, which only happens when the user asks for it.

use std::path::PathBuf;

use super::samples::Ranked;
use super::task::{Summary, Task, Unreadable};
use crate::digest::sha256;
use crate::record::{RecordError, replace_file};

/// The user's file is not what it was when the run began.
#[derive(Debug, thiserror::Error)]
#[error("`{}` has changed since the run began: the patch was not applied", .0.display())]
pub struct Changed(pub PathBuf);

/// Writes a plausible patch into the user's tree. Returns the file.
pub fn apply(task: &Task, summary: &Summary, best: &Ranked) -> anyhow::Result<PathBuf> {
    let path = task.root.join(&summary.file);
    let cannot_read = |source| Unreadable { file: path.clone(), source };
    let now = std::fs::read(&path).map_err(cannot_read)?;
    if sha256(&now) != summary.file_sha256 {
        return Err(Changed(path).into());
    }
    let permissions = std::fs::metadata(&path).map_err(cannot_read)?.permissions();
    replace_file(&path, &best.patched)?;
    std::fs::set_permissions(&path, permissions).map_err(|source| RecordError::Io {
        action: "write",
        path: path.clone(),
        source,
    })?;
    Ok(path)
}
