//! JDKs: finding them, telling their release, choosing one for a language level.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::BuildError;
use crate::java::project::Jdk;
use crate::process::{self, Interrupt, Spec};

/// Time for `java -version`; a JVM on a loaded machine needs seconds.
const VERSION_DEADLINE: Duration = Duration::from_secs(30);

/// Where a JDK keeps the classes of `java.lang`: since 9, and up to 8.
const CLASS_LIBRARIES: [&str; 2] = ["lib/modules", "jre/lib/rt.jar"];

/// The JDKs in `places`, newest first. A place is a JDK's home or a directory of homes, such as `/usr/lib/jvm`; what
/// is no JDK is passed over.
pub fn find_jdks(places: &[PathBuf], interrupt: &Interrupt) -> Vec<Jdk> {
    let mut jdks: Vec<Jdk> = Vec::new();
    for home in places.iter().flat_map(|place| homes_in(place)) {
        if jdks.iter().any(|jdk| jdk.home == home) {
            continue;
        }
        if let Ok(jdk) = probe_jdk(&home, interrupt) {
            jdks.push(jdk);
        }
    }
    jdks.sort_by(|a, b| b.feature.cmp(&a.feature).then_with(|| a.home.cmp(&b.home)));
    jdks
}

/// `place` itself and the directories in it, canonical and sorted: a stable order however the system lists them.
fn homes_in(place: &Path) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = place.canonicalize().into_iter().collect();
    let below = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = below.filter_map(|entry| entry.path().canonicalize().ok()).collect();
    below.sort();
    homes.extend(below.into_iter().filter(|home| home.join("bin/javac").is_file()));
    homes
}

/// The JDK in `home`: one with a compiler and a release that can be told.
pub fn probe_jdk(home: &Path, interrupt: &Interrupt) -> Result<Jdk, BuildError> {
    let not_a_jdk = |reason: &str| BuildError::NotAJdk { home: home.to_owned(), reason: reason.to_owned() };
    let home = home.canonicalize().map_err(|_absent| not_a_jdk("no such directory"))?;
    for tool in ["bin/java", "bin/javac"] {
        if !home.join(tool).is_file() {
            return Err(not_a_jdk(&format!("it has no {tool}")));
        }
    }
    if !CLASS_LIBRARIES.iter().any(|library| home.join(library).is_file()) {
        return Err(not_a_jdk("it has no class library"));
    }
    let release = std::fs::read_to_string(home.join("release")).ok();
    if let Some(feature) = release.as_deref().and_then(feature_of_release_file) {
        return Ok(Jdk { home, feature });
    }
    let spec = Spec::new(home.join("bin/java"), &home, VERSION_DEADLINE).arg("-version");
    let finished = process::run(&spec, interrupt)?;
    let feature = feature_of_version_output(&String::from_utf8_lossy(&finished.stderr));
    feature.map(|feature| Jdk { home, feature }).ok_or_else(|| not_a_jdk("`java -version` tells no release"))
}

/// From the `release` file that every JDK since 7 carries: `JAVA_VERSION="17.0.10"`.
fn feature_of_release_file(text: &str) -> Option<u32> {
    let value = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    feature(value.trim().trim_matches('"'))
}

/// From `openjdk version "1.8.0_392"`.
fn feature_of_version_output(text: &str) -> Option<u32> {
    feature(text.split('"').nth(1)?)
}

fn feature(version: &str) -> Option<u32> {
    let version = version.strip_prefix("1.").unwrap_or(version);
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The lowest language level that a release's `javac` still compiles.
pub fn lowest_level(feature: u32) -> u32 {
    match feature {
        20.. => 8,
        12..=19 => 7,
        9..=11 => 6,
        _ => 5,
    }
}

/// The given JDK if it is new enough; else the first candidate that compiles `level` as it is, else the first of those
/// that come nearest to it: old code may not compile at a higher level.
pub(super) fn choose(given: Option<Jdk>, candidates: &[Jdk], level: Option<u32>) -> Result<Jdk, BuildError> {
    if let Some(jdk) = given {
        let Some(level) = level.filter(|&level| level > jdk.feature) else { return Ok(jdk) };
        return Err(BuildError::JdkTooOld { home: jdk.home, feature: jdk.feature, level });
    }
    let level_or_any = level.unwrap_or(0);
    let new_enough = || candidates.iter().filter(|jdk| jdk.feature >= level_or_any);
    let exact = new_enough().find(|jdk| level.is_none_or(|level| lowest_level(jdk.feature) <= level));
    let chosen = exact.or_else(|| new_enough().min_by_key(|jdk| lowest_level(jdk.feature))).cloned();
    chosen.ok_or(BuildError::NoJdk { level: level.unwrap_or(8) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(candidates: &[u32], level: Option<u32>) -> Option<u32> {
        let jdks: Vec<Jdk> = candidates
            .iter()
            .map(|&feature| Jdk { home: PathBuf::from(format!("/jdk{feature}")), feature })
            .collect();
        choose(None, &jdks, level).ok().map(|jdk| jdk.feature)
    }

    #[test]
    fn the_first_jdk_that_compiles_the_level_is_chosen() {
        assert_eq!(check(&[25, 17], Some(8)), Some(25));
        assert_eq!(check(&[17, 25], Some(8)), Some(17));
        assert_eq!(check(&[17, 25], Some(21)), Some(25));
        assert_eq!(check(&[25, 17], None), Some(25));
    }

    #[test]
    fn an_old_level_takes_a_jdk_that_still_knows_it() {
        assert_eq!(check(&[25, 17], Some(7)), Some(17));
        assert_eq!(
            check(&[25, 17], Some(5)),
            Some(17),
            "none knows it, so the level is raised as little as can be"
        );
    }

    #[test]
    fn a_level_beyond_all_jdks_finds_none() {
        assert_eq!(check(&[17], Some(21)), None);
    }

    #[test]
    fn releases_are_read_from_both_sources() {
        assert_eq!(feature_of_release_file("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.10\"\n"), Some(17));
        assert_eq!(feature_of_release_file("JAVA_VERSION=\"1.8.0_392\"\n"), Some(8));
        assert_eq!(feature_of_version_output("openjdk version \"25-ea\" 2025-09-16\n"), Some(25));
        assert_eq!(feature_of_version_output("command not found"), None);
    }

    #[test]
    fn a_directory_without_a_compiler_is_no_jdk() {
        let home = tempfile::tempdir().unwrap();
        let error = probe_jdk(home.path(), &Interrupt::default()).unwrap_err();
        assert!(error.to_string().ends_with("is not a JDK: it has no bin/java"), "{error}");
    }
}
