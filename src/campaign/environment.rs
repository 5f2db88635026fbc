//! Where a run was made: what does not decide on its samples, and may explain why another machine's differ.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::validate::ValidateSettings;

/// A part of `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Environment {
    /// The benchmark with its release and place.
    pub benchmark: Option<String>,
    /// Time zone and locale of every test process.
    pub time_zone: String,
    pub locale: String,
    /// Vendor and build of the JDKs that run the tests and the language server, as their `release` files say.
    pub jdk: Option<String>,
    pub server_jdk: Option<String>,
    pub budget: Budget,
    pub machine: Machine,
}

/// How far a run goes, and how it shares the machine. Of the process that began it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Budget {
    pub samples: usize,
    pub stop_after: Option<usize>,
    pub max_seconds: Option<u64>,
    pub max_steps: u64,
    pub max_questions: u64,
    pub batch: usize,
    pub threads: Option<usize>,
    pub device: String,
}

/// What the kernel says of the machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Machine {
    pub host: String,
    pub kernel: String,
    pub processor: String,
    pub cores: usize,
    pub memory_mib: u64,
}

impl Environment {
    /// Of this machine and these settings.
    pub fn of(
        config: &Config,
        validate: &ValidateSettings,
        benchmark: Option<String>,
        jdk: &Path,
        server_java: Option<&Path>,
    ) -> Self {
        let server_home = server_java.and_then(|java| java.canonicalize().ok());
        Self {
            benchmark,
            time_zone: validate.time_zone.clone(),
            locale: validate.locale.clone(),
            jdk: build_of(jdk),
            server_jdk: server_home.and_then(|java| build_of(java.parent()?.parent()?)),
            budget: Budget {
                samples: config.samples,
                stop_after: config.stop_after,
                max_seconds: config.max_time.map(|time| time.as_secs()),
                max_steps: config.search.max_steps,
                max_questions: config.search.max_questions,
                batch: config.search.batch,
                threads: config.parts.threads,
                device: format!("{:?}", config.parts.device),
            },
            machine: Machine::here(),
        }
    }
}

impl Machine {
    fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':'))
                .map_or(String::new(), |(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        Self {
            host: read("/proc/sys/kernel/hostname").trim().to_owned(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            processor: field(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_mib: memory.split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024,
        }
    }
}

/// `IMPLEMENTOR` and the fullest version of a JDK's `release` file.
fn build_of(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join("release")).ok()?;
    let value = |name: &str| {
        text.lines()
            .find_map(|line| Some(line.strip_prefix(name)?.strip_prefix('=')?.trim_matches('"').to_owned()))
    };
    let version = value("JAVA_RUNTIME_VERSION").or_else(|| value("JAVA_VERSION"))?;
    Some(format!("{} {version}", value("IMPLEMENTOR").unwrap_or_default()).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jdk_is_named_by_its_vendor_and_fullest_version() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(build_of(dir.path()), None);
        let text =
            "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.1\"\nJAVA_RUNTIME_VERSION=\"17.0.1+12-Debian-1\"\n";
        std::fs::write(dir.path().join("release"), text).unwrap();
        assert_eq!(build_of(dir.path()).as_deref(), Some("Debian 17.0.1+12-Debian-1"));
    }

    #[test]
    fn the_machine_is_known() {
        let machine = Machine::here();
        assert!(
            !machine.host.is_empty() && !machine.kernel.is_empty() && machine.memory_mib > 100,
            "{machine:?}"
        );
    }
}
