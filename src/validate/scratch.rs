//! Copies of the user's tree to run things in, so that the tree itself is never written.
//!
//! Links are followed: a copy holds the bytes, so nothing written in it reaches the original. File times are those of
//! the copying, so no product can look newer than its source.

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::error::ValidateError;
use crate::java::project::Project;

/// Version control: never copied, wherever it lies.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".bzr"];
/// Products of a build, at the root only.
const PRODUCTS: &str = "target";

/// A copy of a project's tree, with the places in it.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) sources: Vec<PathBuf>,
    pub(super) tests: Vec<PathBuf>,
    pub(super) resources: Vec<PathBuf>,
    excluded: Vec<PathBuf>,
}

impl Tree {
    /// Where a copy in `root` has its parts; what lies outside the project's root stays where it is.
    pub(super) fn at(root: &Path, project: &Project) -> Tree {
        let moved = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let below = |path: &PathBuf| path.strip_prefix(&project.root).ok().map(|rest| root.join(rest));
            paths.iter().map(|path| below(path).unwrap_or_else(|| path.clone())).collect()
        };
        Tree {
            root: root.to_owned(),
            sources: moved(&project.sources),
            tests: moved(&project.tests),
            resources: moved(&project.resources),
            excluded: moved(&project.excluded),
        }
    }

    /// The main sources, sorted; test roots inside a source root are left out.
    pub(super) fn main_files(&self) -> Vec<PathBuf> {
        self.compiled(java_files(&self.sources, &self.tests))
    }

    /// The test sources, sorted.
    pub(super) fn test_files(&self) -> Vec<PathBuf> {
        self.compiled(java_files(&self.tests, &[]))
    }

    fn compiled(&self, mut files: Vec<PathBuf>) -> Vec<PathBuf> {
        files.retain(|file| !self.excluded.contains(file));
        files
    }
}

fn java_files(roots: &[PathBuf], without: &[PathBuf]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for root in roots {
        let others = without.iter().filter(|other| !root.starts_with(other)).collect::<Vec<_>>();
        let entries = WalkDir::new(root).into_iter().filter_entry(|entry| {
            let is_hidden = entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
            !is_hidden && !others.iter().any(|other| entry.path() == other.as_path())
        });
        files.extend(entries.filter_map(Result::ok).map(walkdir::DirEntry::into_path).filter(is_compiled));
    }
    files.sort();
    files.dedup();
    files
}

/// Sources that go to the compiler. A module's declaration would change what the class path means.
#[expect(clippy::ptr_arg, reason = "a predicate over owned paths")]
fn is_compiled(path: &PathBuf) -> bool {
    path.extension().is_some_and(|ext| ext == "java") && !path.ends_with("module-info.java") && path.is_file()
}

/// Copies a project's tree to `to`, which must not exist. `scratch` may lie in the tree and is left out.
pub(super) fn copy_project(project: &Project, to: &Path, scratch: &Path) -> Result<(), ValidateError> {
    let products = project.root.join(PRODUCTS);
    let holds_roots = |dir: &Path| {
        let roots = project.sources.iter().chain(&project.tests).chain(&project.resources);
        roots.into_iter().any(|root| root.starts_with(dir))
    };
    copy_tree(&project.root, to, &|path| {
        path == scratch
            || path.file_name().is_some_and(|name| VERSION_CONTROL.iter().any(|vcs| name == *vcs))
            || path == products && !holds_roots(path)
    })
}

/// Copies directories and the bytes of regular files. Links that lead nowhere or in circles, pipes and sockets are
/// passed over.
pub(super) fn copy_tree(from: &Path, to: &Path, skip: &dyn Fn(&Path) -> bool) -> Result<(), ValidateError> {
    let walk = WalkDir::new(from).follow_links(true).into_iter();
    for entry in walk.filter_entry(|entry| !skip(entry.path())) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if is_odd_link(&error) => continue,
            Err(error) => {
                let path = error.path().unwrap_or(from).to_owned();
                return Err(ValidateError::Io { action: "read", path, source: error.into() });
            }
        };
        let below = entry.path().strip_prefix(from).expect("an entry lies below the walk's root");
        let target = to.join(below);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).map_err(ValidateError::io("create", &target))?;
        } else if entry.file_type().is_file() {
            copy_bytes(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn is_odd_link(error: &walkdir::Error) -> bool {
    let leads_nowhere = || error.path().is_some_and(Path::is_symlink);
    error.loop_ancestor().is_some() || leads_nowhere()
}

/// The copy can be written whatever the original allows.
fn copy_bytes(from: &Path, to: &Path) -> Result<(), ValidateError> {
    use std::os::unix::fs::PermissionsExt;
    fs::copy(from, to).map_err(ValidateError::io("copy", from))?;
    let mode = to.metadata().map_err(ValidateError::io("read", to))?.permissions().mode();
    if mode & 0o200 == 0 {
        fs::set_permissions(to, fs::Permissions::from_mode(mode | 0o200))
            .map_err(ValidateError::io("make writable", to))?;
    }
    Ok(())
}

/// An empty directory in place of whatever was there.
pub(super) fn fresh_dir(path: &Path) -> Result<(), ValidateError> {
    remove(path)?;
    fs::create_dir_all(path).map_err(ValidateError::io("create", path))
}

/// Removes a directory and all below; one that is not there is fine, and so is what patched code has locked.
pub(super) fn remove(path: &Path) -> Result<(), ValidateError> {
    let mut removed = fs::remove_dir_all(path);
    if removed.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        unlock(path);
        removed = fs::remove_dir_all(path);
    }
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ValidateError::Io { action: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Lets us into directories again. What does not work here shows when they are removed.
fn unlock(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _shows_later = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

/// Writes bytes to a file whose directory may not be there yet.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), ValidateError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(ValidateError::io("create", parent))?;
    }
    fs::write(path, bytes).map_err(ValidateError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_bytes_and_no_links_history_or_loops() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        write(&dir.path().join("outside"), b"far\r\n\xe4").unwrap();
        write(&from.join("a/b.txt"), b"near").unwrap();
        write(&from.join(".git/config"), b"secret").unwrap();
        for (target, link) in [("../outside", "link"), ("nowhere", "dangling"), (".", "loop")] {
            std::os::unix::fs::symlink(target, from.join(link)).unwrap();
        }
        copy_tree(&from, &to, &|path| path.ends_with(".git")).unwrap();
        assert_eq!(fs::read(to.join("link")).unwrap(), b"far\r\n\xe4");
        assert!(!to.join("link").is_symlink());
        assert_eq!(fs::read(to.join("a/b.txt")).unwrap(), b"near");
        for absent in [".git", "dangling", "loop"] {
            assert!(!to.join(absent).exists() && !to.join(absent).is_symlink(), "{absent}");
        }
    }

    #[test]
    fn a_read_only_file_is_copied_writable() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from/f");
        write(&from, b"x").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o444)).unwrap();
        copy_tree(&dir.path().join("from"), &dir.path().join("to"), &|_| false).unwrap();
        assert_eq!(dir.path().join("to/f").metadata().unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn locked_directories_are_removed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        write(&top.join("locked/f"), b"x").unwrap();
        for path in [top.join("locked"), top.clone()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        }
        fresh_dir(&top).unwrap();
        assert_eq!(fs::read_dir(&top).unwrap().count(), 0);
    }

    #[test]
    fn tests_inside_a_source_root_are_not_compiled_with_it() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["src/A.java", "src/module-info.java", "src/test/ATest.java", "src/A.java.bak"] {
            write(&dir.path().join(file), b"").unwrap();
        }
        let (sources, tests) = (vec![dir.path().join("src")], vec![dir.path().join("src/test")]);
        assert_eq!(java_files(&sources, &tests), [dir.path().join("src/A.java")]);
        assert_eq!(java_files(&tests, &[]), [dir.path().join("src/test/ATest.java")]);
    }
}
