//! Where the parts that the engine's tests run on were installed.

use std::path::{Path, PathBuf};

use repair::java::project::Jdk;

#[path = "../parts/cache.rs"]
mod place;
use place::cache;

/// What a test needs to run a server.
pub struct Parts {
    pub java: PathBuf,
    pub jdtls: PathBuf,
    pub bundle: PathBuf,
    pub jdk: Jdk,
}

/// Feature release of the Java installation at `home`, from its `release` file.
fn feature(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    version.strip_prefix("1.").unwrap_or(version).split(['.', '"']).next()?.parse().ok()
}

/// The Java installations of this machine that a test may use.
pub fn javas() -> Vec<Jdk> {
    let mut homes = vec![cache().join("java")];
    if let Ok(entries) = std::fs::read_dir("/usr/lib/jvm") {
        homes.extend(entries.flatten().map(|entry| entry.path()));
    }
    homes.sort();
    homes
        .into_iter()
        .filter(|home| home.join("bin/java").is_file())
        .filter_map(|home| Some(Jdk { feature: feature(&home)?, home }))
        .collect()
}

/// The parts, or `None` after saying what is absent.
pub fn parts() -> Option<Parts> {
    let (jdtls, bundle) = (cache().join("jdtls"), cache().join("lib/repair-jdtls.jar"));
    let javas = javas();
    let server_java = javas.iter().find(|java| java.feature >= 21);
    let jdk = javas.iter().min_by_key(|java| (java.feature < 17, java.feature));
    if let (true, Some(java), Some(jdk)) =
        (jdtls.join("plugins").is_dir() && bundle.is_file(), server_java, jdk)
    {
        return Some(Parts { java: java.home.join("bin/java"), jdtls, bundle, jdk: jdk.clone() });
    }
    eprintln!("skipped: no JDT LS at {}, no bundle, or no Java 21 or newer", jdtls.display());
    None
}
