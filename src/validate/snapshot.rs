//! A directory that is put back as it was: what a candidate changed in a worker's directory is found by its marks and made
//! anew, so that the next candidate finds what a fresh copy would show it.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::error::ValidateError;
use super::scratch;

/// What tells a file from any other or later one. The time of change cannot be set by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Dir { inode: u64, mode: u32 },
    File { inode: u64, mode: u32, bytes: u64, changed: (i64, i64) },
    Other,
}

impl Mark {
    fn of(meta: &Metadata) -> Mark {
        let (inode, mode) = (meta.ino(), meta.mode());
        if meta.is_dir() {
            Mark::Dir { inode, mode }
        } else if meta.is_file() && meta.nlink() == 1 {
            Mark::File { inode, mode, bytes: meta.len(), changed: (meta.ctime(), meta.ctime_nsec()) }
        } else {
            Mark::Other
        }
    }
}

/// The marks of everything below a directory, part of which is a copy.
#[derive(Debug)]
pub(super) struct Snapshot {
    root: PathBuf,
    /// Directory below `root` that is a copy.
    copy: PathBuf,
    /// What it is a copy of.
    original: PathBuf,
    marks: BTreeMap<PathBuf, Mark>,
}

impl Snapshot {
    /// Marks everything below `root`. All files there lie in `copy`, a copy of `original`.
    pub(super) fn take(root: &Path, copy: &Path, original: &Path) -> Result<Snapshot, ValidateError> {
        let mut marks = BTreeMap::new();
        for entry in WalkDir::new(root) {
            let (path, mark) = entry
                .and_then(|entry| Ok((entry.path().to_owned(), Mark::of(&entry.metadata()?))))
                .map_err(|error| {
                    let path = error.path().unwrap_or(root).to_owned();
                    ValidateError::Io { action: "read", path, source: error.into() }
                })?;
            marks.insert(path, mark);
        }
        Ok(Snapshot { root: root.to_owned(), copy: copy.to_owned(), original: original.to_owned(), marks })
    }

    /// Puts everything back; `false` where a directory itself was replaced or cannot be read, so that whoever works in it
    /// may be somewhere else.
    pub(super) fn restore(&mut self) -> Result<bool, ValidateError> {
        let mut seen = 0;
        let mut walk = WalkDir::new(&self.root).into_iter();
        while let Some(entry) = walk.next() {
            let Ok((entry, meta)) = entry.and_then(|entry| entry.metadata().map(|meta| (entry, meta))) else {
                return Ok(false);
            };
            match (self.marks.get(entry.path()), Mark::of(&meta)) {
                (Some(known), mark) if *known == mark && mark != Mark::Other => seen += 1,
                (Some(Mark::Dir { .. }), _) => return Ok(false),
                (_, Mark::Dir { .. }) => {
                    walk.skip_current_dir();
                    scratch::remove(entry.path())?;
                }
                _ => fs::remove_file(entry.path()).map_err(ValidateError::io("remove", entry.path()))?,
            }
        }
        if !self.copy.is_dir() {
            return Ok(false);
        }
        if seen < self.marks.len() {
            self.bring_back()?;
        }
        Ok(true)
    }

    fn bring_back(&mut self) -> Result<(), ValidateError> {
        for (path, mark) in &mut self.marks {
            if path.symlink_metadata().is_ok() {
                continue;
            }
            match (&mark, path.strip_prefix(&self.copy)) {
                (Mark::File { .. }, Ok(below)) => {
                    let from = self.original.join(below);
                    fs::copy(&from, path).map_err(ValidateError::io("copy", &from))?;
                }
                _ => fs::create_dir_all(path).map_err(ValidateError::io("create", path))?,
            }
            let meta = path.symlink_metadata().map_err(ValidateError::io("read", path))?;
            *mark = Mark::of(&meta);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy with one file in each of two directories, changed and put back.
    fn check(change: impl Fn(&Path)) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let (from, root) = (dir.path().join("from"), dir.path().join("root"));
        for file in ["a/x", "b/y"] {
            scratch::write(&from.join(file), file.as_bytes()).unwrap();
        }
        fs::create_dir_all(root.join("tmp")).unwrap();
        scratch::copy_tree(&from, &root.join("tree"), &|_| false).unwrap();
        let mut snapshot = Snapshot::take(&root, &root.join("tree"), &from).unwrap();
        for _ in 0..2 {
            change(&root);
            if !snapshot.restore().unwrap() {
                return false;
            }
            let entries = WalkDir::new(&root).sort_by_file_name().into_iter().map(Result::unwrap);
            let paths: Vec<String> = entries
                .map(|e| e.path().strip_prefix(&root).unwrap().to_string_lossy().into_owned())
                .collect();
            assert_eq!(paths, ["", "tmp", "tree", "tree/a", "tree/a/x", "tree/b", "tree/b/y"]);
            assert_eq!(fs::read(root.join("tree/a/x")).unwrap(), b"a/x");
        }
        true
    }

    #[test]
    fn what_was_written_added_or_removed_is_put_back() {
        assert!(check(|_| {}));
        assert!(check(|root| fs::write(root.join("tree/a/x"), "z/z").unwrap()));
        assert!(check(|root| fs::remove_file(root.join("tree/a/x")).unwrap()));
        assert!(check(|root| scratch::write(&root.join("tmp/new/dir/file"), b"").unwrap()));
        assert!(check(|root| std::os::unix::fs::symlink("/etc/passwd", root.join("tree/link")).unwrap()));
        assert!(check(|root| fs::hard_link(root.join("tree/b/y"), root.join("tree/c")).unwrap()));
        assert!(check(|root| fs::remove_dir_all(root.join("tree/b")).unwrap()));
    }

    #[test]
    fn a_directory_that_is_another_one_now_is_told() {
        assert!(!check(|root| fs::remove_dir_all(root.join("tree")).unwrap()));
        assert!(!check(|root| {
            fs::rename(root.join("tree"), root.join("other")).unwrap();
            fs::create_dir(root.join("tree")).unwrap();
        }));
    }
}
