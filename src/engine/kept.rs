//! Directories in which servers keep their state from one run to the next: the workspace with its index and
//! Equinox's caches.
//!
//! A directory belongs to one set of parts (server, runtime, bundle, class path with its class files, JDK): its name is their digest, so that
//! nothing stale is ever reused. Sources are no part of it; the server looks at their times when it starts. A directory
//! has one holder at a time, by a lock that dies with it; a second server with the same parts gets a second directory.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};

use super::EngineError;
use super::server::ServerSettings;
use super::wire::ProjectArgs;
use crate::digest::sha256;

/// Directories that are kept while nobody holds them; those used last stay.
const KEPT: usize = 12;
/// Digits of the digest in a name: enough for a name, and short paths are good for old Java.
const NAME_DIGITS: usize = 20;

/// A directory that this process holds.
#[derive(Debug)]
pub(super) struct Kept {
    dir: PathBuf,
    _lock: File,
}

impl Kept {
    /// Takes the first free directory for `project` below `store`, making one if none is there.
    pub fn take(store: &Path, settings: &ServerSettings, project: &ProjectArgs) -> Result<Self, EngineError> {
        let name = key(settings, project);
        create(store)?;
        let kept = (0..).find_map(|number| Self::hold(&store.join(format!("{name}-{number}"))).transpose());
        let kept = kept.expect("the numbers do not end")?;
        remove_oldest(store, kept.dir());
        Ok(kept)
    }

    /// `None` if somebody else holds it.
    fn hold(dir: &Path) -> Result<Option<Self>, EngineError> {
        create(dir)?;
        let path = dir.join("lock");
        let state = |source| EngineError::State { path: path.clone(), source };
        let lock = File::create(&path).map_err(state)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_same(&lock, &path) => Ok(Some(Self { dir: dir.to_owned(), _lock: lock })),
            // It was removed between the two calls.
            Ok(()) => Self::hold(dir),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(state(errno.into())),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Removes what is there but the lock: the server could not start on it.
    pub fn clear(&self) -> Result<(), EngineError> {
        let state = |source| EngineError::State { path: self.dir.clone(), source };
        for entry in
            std::fs::read_dir(&self.dir).map_err(state)?.flatten().filter(|entry| entry.file_name() != "lock")
        {
            let path = entry.path();
            let removed =
                if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.map_err(|source| EngineError::State { path, source })?;
        }
        Ok(())
    }
}

/// What the answers depend on but for the sources: paths with the times of what lies there.
fn key(settings: &ServerSettings, project: &ProjectArgs) -> String {
    let bundle = std::fs::read(&settings.bundle).map(|bytes| sha256(&bytes)).unwrap_or_default();
    let release = std::fs::read(Path::new(&project.jre).join("release")).unwrap_or_default();
    let libs: Vec<_> = project.libs.iter().map(|lib| stamp(Path::new(lib))).collect();
    let parts = (
        [&settings.java, &settings.jdtls_home].map(|path| stamp(path)),
        bundle,
        String::from_utf8_lossy(&release).into_owned(),
        project,
        libs,
    );
    sha256(&serde_json::to_vec(&parts).expect("plain data"))[..NAME_DIGITS].to_owned()
}

/// Whether the path still leads to the open file.
fn is_same(file: &File, path: &Path) -> bool {
    let place = |data: &Metadata| (data.dev(), data.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(open), Ok(named)) if place(&open) == place(&named))
}

/// A path with the files that it leads to: their sizes together and the last change of any. What cannot be read counts
/// for nothing.
fn stamp(path: &Path) -> (PathBuf, u64, u128) {
    let entries = walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok);
    let files = entries.filter_map(|entry| entry.metadata().ok()).filter(Metadata::is_file);
    let (mut size, mut changed) = (0, 0);
    for file in files {
        let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
        size += file.len();
        changed = changed.max(file.modified().ok().and_then(since).unwrap_or_default().as_nanos());
    }
    (path.to_owned(), size, changed)
}

/// Removes the directories that were used longest ago, but for `held` and those that somebody else holds.
fn remove_oldest(store: &Path, held: &Path) {
    let entries = std::fs::read_dir(store).into_iter().flatten().flatten().map(|entry| entry.path());
    let used = |path: &PathBuf| std::fs::metadata(path.join("lock")).and_then(|lock| lock.modified()).ok();
    let mut all: Vec<_> =
        entries.filter(|path| path != held).filter_map(|path| Some((used(&path)?, path))).collect();
    all.sort();
    for (_, path) in all.iter().rev().skip(KEPT) {
        if let Ok(Some(free)) = Kept::hold(path) {
            // Another process may be removing it too.
            let _gone = std::fs::remove_dir_all(free.dir());
        }
    }
}

fn create(dir: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(dir).map_err(|source| EngineError::State { path: dir.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(home: &Path) -> ServerSettings {
        ServerSettings {
            java: home.join("java"),
            jdtls_home: home.to_owned(),
            bundle: home.join("bundle.jar"),
            state_dir: home.to_owned(),
            start_deadline: Duration::ZERO,
            request_deadline: Duration::ZERO,
            heap_mb: 0,
        }
    }

    fn project(lib: &Path) -> ProjectArgs {
        let libs = vec![lib.display().to_string()];
        let (jre, encoding) = ("/".to_owned(), "UTF-8".to_owned());
        ProjectArgs { sources: Vec::new(), tests: Vec::new(), libs, jre, level: 8, encoding }
    }

    fn used(dir: &Path, time: SystemTime) {
        File::create(dir.join("lock")).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn a_directory_is_taken_by_one_and_found_again() {
        let (home, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let jar = home.path().join("a.jar");
        let take = || Kept::take(store.path(), &settings(home.path()), &project(&jar)).unwrap();
        let first = take();
        let second = take();
        assert_ne!(first.dir(), second.dir());
        let dir = first.dir().to_owned();
        std::fs::write(dir.join("index"), "").unwrap();
        drop(first);
        assert_eq!(take().dir(), dir);
        assert!(dir.join("index").exists());
    }

    #[test]
    fn a_changed_jar_or_bundle_gets_another_directory() {
        let home = tempfile::tempdir().unwrap();
        let jar = home.path().join("a.jar");
        std::fs::write(&jar, "1").unwrap();
        let name = || key(&settings(home.path()), &project(&jar));
        let before = name();
        assert_eq!(name(), before);
        std::fs::remove_file(&jar).unwrap();
        std::fs::create_dir(&jar).unwrap();
        std::fs::write(jar.join("A.class"), "2").unwrap();
        let changed = name();
        assert_ne!(changed, before);
        std::fs::write(home.path().join("bundle.jar"), "x").unwrap();
        assert_ne!(name(), changed);
    }

    #[test]
    fn what_was_used_longest_ago_is_removed_but_never_what_is_held() {
        let home = tempfile::tempdir().unwrap();
        let held = Kept::hold(&home.path().join("held")).unwrap().unwrap();
        for number in 0..KEPT + 3 {
            let dir = home.path().join(format!("old-{number:02}"));
            drop(Kept::hold(&dir).unwrap().unwrap());
            used(&dir, SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64));
        }
        used(held.dir(), SystemTime::UNIX_EPOCH);
        remove_oldest(home.path(), &home.path().join("mine"));
        let left = std::fs::read_dir(home.path()).unwrap().count();
        assert_eq!(left, KEPT + 1);
        assert!(held.dir().exists() && !home.path().join("old-00").exists());
    }

    #[test]
    fn a_cleared_directory_is_still_held() {
        let home = tempfile::tempdir().unwrap();
        let kept = Kept::hold(home.path()).unwrap().unwrap();
        std::fs::create_dir(home.path().join("data")).unwrap();
        kept.clear().unwrap();
        assert!(!home.path().join("data").exists());
        assert!(Kept::hold(home.path()).unwrap().is_none());
    }
}
