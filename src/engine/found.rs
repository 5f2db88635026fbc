//! Which runtime and which server there are, without starting anything but `java -version`.

use std::path::{Path, PathBuf};

use super::EngineError;
use super::server::{self, OLDEST_JAVA};

/// The first of `candidates` that is new enough to run the server. If none is, the error is that of the first.
pub fn choose_java(candidates: &[PathBuf]) -> Result<PathBuf, EngineError> {
    let mut first_error = None;
    for java in candidates {
        match server::java_feature(java) {
            Ok(found) if found >= OLDEST_JAVA => return Ok(java.clone()),
            Ok(found) => {
                let error = EngineError::JavaTooOld { java: java.clone(), found, needed: OLDEST_JAVA };
                first_error.get_or_insert(error);
            }
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or(EngineError::NoJava { needed: OLDEST_JAVA }))
}

/// Name, version and place of the unpacked server in `home`.
pub fn describe_server(home: &Path) -> Result<String, EngineError> {
    server::launcher(home)?;
    let plugins = home.join("plugins");
    let core = "org.eclipse.jdt.ls.core_";
    let missing =
        || EngineError::NotAServer { home: home.to_owned(), missing: plugins.join(format!("{core}*.jar")) };
    let entries = std::fs::read_dir(&plugins).map_err(|_unreadable| missing())?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let version =
        names.filter_map(|name| Some(name.strip_prefix(core)?.strip_suffix(".jar")?.to_owned())).max();
    Ok(format!("JDT LS {} in {}", version.ok_or_else(missing)?, home.display()))
}
