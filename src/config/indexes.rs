//! Where indexes and the model that embeds their chunks are.

use std::path::PathBuf;

use super::flags::StoreFlags;
use super::{ConfigError, Environment};

/// The default embedding model, below the cache's `models/`.
const EMBEDDER: &str = "all-MiniLM-L6-v2";

/// The directory of the embedded store.
pub fn index_dir(environment: &Environment) -> Result<PathBuf, ConfigError> {
    Ok(environment.cache.clone().ok_or(ConfigError::NoHome)?.join("index"))
}

/// The directory of the embedding model: the flag's, else that below the cache.
pub fn embedder_dir(flags: Option<&StoreFlags>, environment: &Environment) -> Result<PathBuf, ConfigError> {
    match flags.and_then(|flags| flags.embedder.clone()) {
        Some(dir) => Ok(dir),
        None => Ok(environment.cache.clone().ok_or(ConfigError::NoHome)?.join("models").join(EMBEDDER)),
    }
}
