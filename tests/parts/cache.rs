//! Where set-up put the real parts.

use std::path::PathBuf;

/// `REPAIR_HOME`, else the user's cache.
#[expect(clippy::disallowed_methods, reason = "where the parts are is told by the environment alone")]
pub fn cache() -> PathBuf {
    let from = |name| std::env::var_os(name).map(PathBuf::from);
    from("REPAIR_HOME")
        .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("repair")))
        .or_else(|| from("HOME").map(|dir| dir.join(".cache/repair")))
        .unwrap_or_default()
}
