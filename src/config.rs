//! Settings: flags before `REPAIR_*` variables before `repair.toml` before defaults, resolved once. The sole reader of
//! the environment. Everything below takes typed values.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::build::Overrides;
use crate::decode::Settings;
use crate::decode::oracle::Guidance;
use crate::decode::proposer::Truncation;
use crate::java::project::BuildTool;
use crate::model::{DeviceChoice, Hub};
use crate::process::find_in;

mod benchmarks;
pub mod flags;
mod indexes;

pub use benchmarks::{Defects4jPlace, defects4j, humaneval, quixbugs};
pub use indexes::{embedder_dir, index_dir};

use flags::{ContextMode, EngineMode, Flags, PartFlags, ProjectFlags, ReplayFlags, Switch, TemplateMode};

/// The embedded default model, below the cache's `models/`.
pub const DEFAULT_MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
/// Name of the project's own settings file, in its root.
const SETTINGS_FILE: &str = "repair.toml";
/// Where Debian and its relatives install Java.
const JVM_DIR: &str = "/usr/lib/jvm";

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `repair.toml` cannot be read or understood.
    #[error("cannot use `{}`: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, on one line.
        reason: String,
    },
    /// A value is out of its range.
    #[error("{name} is {value}, but must be {allowed}")]
    Range {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: &'static str,
    },
    /// A variable of the environment is no value of its kind.
    #[error("`{name}={value}` is not {expected}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Neither a cache directory nor a home is known.
    #[error("no home directory: set HOME or REPAIR_HOME")]
    NoHome,
}

/// The variables that settings may come from, read once.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `REPAIR_HOME`, else `XDG_CACHE_HOME/repair`, else `HOME/.cache/repair`.
    pub cache: Option<PathBuf>,
    model: Option<PathBuf>,
    jdk: Option<PathBuf>,
    server_java: Option<PathBuf>,
    jdtls_home: Option<PathBuf>,
    java_home: Option<PathBuf>,
    defects4j_home: Option<PathBuf>,
    quixbugs: Option<PathBuf>,
    humaneval: Option<PathBuf>,
    path: Vec<PathBuf>,
    /// The hub of models.
    pub hub: Hub,
    device: Option<OsString>,
    samples: Option<OsString>,
    seed: Option<OsString>,
    threads: Option<OsString>,
}

impl Environment {
    /// Reads this process's environment.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub fn read() -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = |name: &str| var(name).map(PathBuf::from);
        let text = |name: &str| var(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            cache: path("REPAIR_HOME")
                .or_else(|| path("XDG_CACHE_HOME").map(|dir| dir.join("repair")))
                .or_else(|| path("HOME").map(|dir| dir.join(".cache/repair"))),
            model: path("REPAIR_MODEL"),
            jdk: path("REPAIR_JDK"),
            server_java: path("REPAIR_SERVER_JAVA"),
            jdtls_home: path("REPAIR_JDTLS_HOME").or_else(|| path("JDTLS_HOME")),
            java_home: path("JAVA_HOME"),
            quixbugs: path("QUIXBUGS_HOME"),
            humaneval: path("HUMANEVAL_HOME"),
            defects4j_home: path("DEFECTS4J_HOME").or_else(|| path("D4J_HOME")),
            path: var("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
            hub: Hub {
                cache: path("HF_HUB_CACHE")
                    .or_else(|| path("HF_HOME").map(|dir| dir.join("hub")))
                    .or_else(|| path("HOME").map(|dir| dir.join(".cache/huggingface/hub")))
                    .unwrap_or_default(),
                endpoint: text("HF_ENDPOINT"),
                token: text("HF_TOKEN"),
                offline: text("HF_HUB_OFFLINE").is_some_and(|value| is_true(&value)),
            },
            device: var("REPAIR_DEVICE"),
            samples: var("REPAIR_SAMPLES"),
            seed: var("REPAIR_SEED"),
            threads: var("REPAIR_THREADS"),
        }
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        find_in(program, self.path.iter().map(PathBuf::as_path))
    }
}

/// `repair.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct SettingsFile {
    build: Option<BuildTool>,
    source: Vec<PathBuf>,
    test_source: Vec<PathBuf>,
    classpath: Vec<PathBuf>,
    level: Option<u32>,
    encoding: Option<String>,
    samples: Option<usize>,
    seed: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<usize>,
    max_tokens: Option<usize>,
    max_steps: Option<u64>,
    max_questions: Option<u64>,
    max_seconds: Option<u64>,
    batch: Option<usize>,
    engine: Option<EngineMode>,
    statement_check: Option<Switch>,
    end_check: Option<Switch>,
    context: Option<ContextMode>,
    prior: Option<Switch>,
    templates: Option<TemplateMode>,
    model: Option<PathBuf>,
    jdk: Option<PathBuf>,
    server_java: Option<PathBuf>,
    jdtls_home: Option<PathBuf>,
    threads: Option<usize>,
    device: Option<String>,
}

impl SettingsFile {
    fn read(root: &Path) -> Result<Self, ConfigError> {
        let path = root.join(SETTINGS_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            // The root may be a file or missing: the build module says so better.
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(Self::default()),
            Err(error) => return Err(ConfigError::File { path, reason: error.to_string() }),
        };
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            ConfigError::File {
                path,
                reason: format!("line {line}: {}", error.message().replace('\n', ", ")),
            }
        })
    }
}

/// Where the parts of the environment are, found or not.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Directory of everything that is downloaded, built and kept.
    pub cache: PathBuf,
    /// Model weights: a path, or a name that the hub knows.
    pub model: PathBuf,
    /// Where models are had by name.
    pub hub: Hub,
    /// Where the model computes.
    pub device: DeviceChoice,
    /// Runtimes that may run the language server, the preferred first.
    pub server_javas: Vec<PathBuf>,
    /// Unpacked language server.
    pub jdtls_home: PathBuf,
    /// Our bundle for the language server.
    pub bundle: PathBuf,
    /// Our test runner.
    pub runner: PathBuf,
    /// JUnit jars: console, JUnit 4, hamcrest.
    pub junit: Vec<PathBuf>,
    /// The JDK that the user named.
    pub jdk: Option<PathBuf>,
    /// Directories that may hold JDKs, the preferred first.
    pub jdk_places: Vec<PathBuf>,
    /// Maven.
    pub mvn: Option<PathBuf>,
    /// Git.
    pub git: Option<PathBuf>,
    /// Bubblewrap.
    pub bwrap: Option<PathBuf>,
    /// Threads of the model's arithmetic.
    pub threads: Option<usize>,
}

/// Finds the parts by flags, environment and looking; a missing part is found missing where it is needed.
pub fn parts(flags: &PartFlags, environment: &Environment) -> Result<Parts, ConfigError> {
    resolve_parts(flags, environment, &SettingsFile::default())
}

fn resolve_parts(flags: &PartFlags, env: &Environment, file: &SettingsFile) -> Result<Parts, ConfigError> {
    let cache = env.cache.clone().ok_or(ConfigError::NoHome)?;
    let pick = |flag: &Option<PathBuf>, var: &Option<PathBuf>, own: &Option<PathBuf>| {
        flag.clone().or_else(|| var.clone()).or_else(|| own.clone())
    };
    let installed = subdirectories(Path::new(JVM_DIR));
    let server_java = pick(&flags.server_java, &env.server_java, &file.server_java);
    Ok(Parts {
        hub: env.hub.clone(),
        device: device(flags.device, env.device.as_ref(), file.device.as_deref())?,
        model: pick(&flags.model, &env.model, &file.model)
            .unwrap_or_else(|| cache.join("models").join(DEFAULT_MODEL)),
        server_javas: server_java.map_or_else(|| server_javas(env, &cache, &installed), |java| vec![java]),
        jdtls_home: pick(&flags.jdtls_home, &env.jdtls_home, &file.jdtls_home)
            .unwrap_or_else(|| cache.join("jdtls")),
        bundle: cache.join("lib/repair-jdtls.jar"),
        runner: cache.join("lib/repair-runner.jar"),
        junit: jars(&cache.join("junit")),
        jdk: pick(&flags.jdk, &env.jdk, &file.jdk),
        jdk_places: env
            .java_home
            .iter()
            .cloned()
            .chain(home_of(env.find("javac")))
            .chain(installed)
            .collect(),
        mvn: env.find("mvn"),
        git: env.find("git"),
        bwrap: env.find("bwrap"),
        threads: match (flags.threads, &env.threads) {
            (Some(threads), _) => Some(threads),
            (None, Some(value)) => Some(number("REPAIR_THREADS", value)?),
            (None, None) => file.threads,
        },
        cache,
    })
}

/// What the hub's own clients take for true.
fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE")
}

fn device(
    flag: Option<DeviceChoice>,
    variable: Option<&OsString>,
    file: Option<&str>,
) -> Result<DeviceChoice, ConfigError> {
    let expected = "cpu, cuda, cuda:N or metal";
    let malformed = |name, value: &str| ConfigError::Variable { name, value: value.to_owned(), expected };
    match (flag, variable, file) {
        (Some(device), ..) => Ok(device),
        (None, Some(value), _) => {
            let value = value.to_string_lossy();
            value.parse().map_err(|_| malformed("REPAIR_DEVICE", &value))
        }
        (None, None, Some(value)) => value.parse().map_err(|_| malformed("device", value)),
        (None, None, None) => Ok(DeviceChoice::default()),
    }
}

fn server_javas(env: &Environment, cache: &Path, installed: &[PathBuf]) -> Vec<PathBuf> {
    let homes = env.java_home.iter().chain(installed).map(|home| home.join("bin/java"));
    std::iter::once(cache.join("java/bin/java"))
        .chain(homes)
        .chain(env.find("java"))
        .filter(|java| java.is_file())
        .collect()
}

/// The JDK that an executable belongs to, by the symbolic links that lead to it.
fn home_of(executable: Option<PathBuf>) -> Option<PathBuf> {
    let real = executable?.canonicalize().ok()?;
    Some(real.parent()?.parent()?.to_owned())
}

fn subdirectories(dir: &Path) -> Vec<PathBuf> {
    listed(dir, Path::is_dir)
}

fn jars(dir: &Path) -> Vec<PathBuf> {
    listed(dir, |path| path.extension().is_some_and(|extension| extension == "jar"))
}

fn listed(dir: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| wanted(path))
        .collect();
    paths.sort();
    paths
}

/// Settings of a repair.
#[derive(Debug, Clone)]
pub struct Config {
    /// Parts of the environment.
    pub parts: Parts,
    /// What the user said about the project.
    pub overrides: Overrides,
    /// Samples to draw.
    pub samples: usize,
    /// Plausible patches after which to stop.
    pub stop_after: Option<usize>,
    /// Whether samples are drawn with replacement; then `samples` are begun.
    pub with_replacement: bool,
    /// Time after which no further sample is drawn.
    pub max_time: Option<Duration>,
    /// Settings of the search.
    pub search: Settings,
    /// What the engine is asked for.
    pub guidance: Guidance,
    /// What the model sees.
    pub context: ContextMode,
    /// Whether the project's own n-grams are mixed into the model's distribution.
    pub prior: bool,
    /// Whether holes that keep a part of the buggy lines are filled, too.
    pub templates: TemplateMode,
}

/// Resolves the settings of a repair in the project at `root`.
pub fn resolve(flags: &Flags, environment: &Environment, root: &Path) -> Result<Config, ConfigError> {
    let file = SettingsFile::read(root)?;
    let variable =
        |name, value: &Option<OsString>| value.as_ref().map(|value| number(name, value)).transpose();
    let samples = flags
        .samples
        .or(variable("REPAIR_SAMPLES", &environment.samples)?.map(|n: u64| n as usize))
        .or(file.samples)
        .unwrap_or(100);
    let seed = flags.seed.or(variable("REPAIR_SEED", &environment.seed)?).or(file.seed).unwrap_or(0);
    let search = Settings {
        seed,
        truncation: truncation(flags, &file)?,
        max_tokens: flags.max_tokens.or(file.max_tokens).unwrap_or(50),
        batch: at_least_one("--batch", flags.batch.or(file.batch).unwrap_or(32))?,
        max_steps: flags.max_steps.or(file.max_steps).unwrap_or(20_000),
        max_questions: flags.max_questions.or(file.max_questions).unwrap_or(u64::MAX),
        max_draws: None,
    };
    Ok(Config {
        parts: resolve_parts(&flags.parts, environment, &file)?,
        samples: at_least_one("--samples", samples)?,
        stop_after: flags.stop_after.map(|n| at_least_one("--stop-after", n)).transpose()?,
        with_replacement: flags.with_replacement,
        max_time: flags.max_seconds.or(file.max_seconds).map(Duration::from_secs),
        search,
        guidance: guidance(flags, &file),
        context: flags.context.or(file.context).unwrap_or(ContextMode::File),
        prior: flags.prior.or(file.prior).unwrap_or(Switch::On) == Switch::On,
        templates: flags.templates.or(file.templates).unwrap_or(TemplateMode::Off),
        overrides: overrides(&flags.described, file),
    })
}

/// The paper's variants, changed by the switches of their own.
fn guidance(flags: &Flags, file: &SettingsFile) -> Guidance {
    let variant = match flags.engine.or(file.engine).unwrap_or(EngineMode::Full) {
        EngineMode::Off => Guidance::OFF,
        EngineMode::Prune => Guidance { names: true, ..Guidance::OFF },
        EngineMode::Memo => Guidance { names: true, memo: true, ..Guidance::OFF },
        EngineMode::Full => Guidance::FULL,
    };
    let switched = |flag: Option<Switch>, default| flag.map_or(default, |switch| switch == Switch::On);
    Guidance {
        statements: switched(flags.statement_check.or(file.statement_check), variant.statements),
        end: switched(flags.end_check.or(file.end_check), variant.end),
        ..variant
    }
}

fn truncation(flags: &Flags, file: &SettingsFile) -> Result<Truncation, ConfigError> {
    let temperature = flags.temperature.or(file.temperature).unwrap_or(1.0);
    if !(temperature > 0.0 && temperature.is_finite()) {
        return Err(range("--temperature", &temperature, "above 0"));
    }
    let top_p = flags.top_p.or(file.top_p);
    if let Some(p) = top_p.filter(|&p| !(p > 0.0 && p <= 1.0)) {
        return Err(range("--top-p", &p, "above 0 and at most 1"));
    }
    let top_k = flags.top_k.or(file.top_k).map(|k| at_least_one("--top-k", k)).transpose()?;
    Ok(Truncation { temperature, top_k, top_p })
}

/// Settings of a replay: where the parts are, and what the user said about the project at `root`.
pub fn resolve_replay(
    flags: &ReplayFlags,
    environment: &Environment,
    root: &Path,
) -> Result<(Parts, Overrides), ConfigError> {
    at_least_one("--holes", flags.holes)?;
    let file = SettingsFile::read(root)?;
    Ok((resolve_parts(&flags.parts, environment, &file)?, overrides(&flags.described, file)))
}

fn overrides(flags: &ProjectFlags, file: SettingsFile) -> Overrides {
    let pick = |flag: &[PathBuf], own: Vec<PathBuf>| if flag.is_empty() { own } else { flag.to_vec() };
    Overrides {
        build_tool: flags.build.or(file.build),
        sources: pick(&flags.sources, file.source),
        tests: pick(&flags.test_sources, file.test_source),
        class_path: pick(&flags.classpath, file.classpath),
        level: flags.level.or(file.level),
        encoding: flags.encoding.clone().or(file.encoding),
        jdk: None,
    }
}

fn at_least_one(name: &'static str, value: usize) -> Result<usize, ConfigError> {
    if value == 0 { Err(range(name, &value, "at least 1")) } else { Ok(value) }
}

fn range(name: &'static str, value: &impl ToString, allowed: &'static str) -> ConfigError {
    ConfigError::Range { name, value: value.to_string(), allowed }
}

fn number<N: std::str::FromStr>(name: &'static str, value: &OsString) -> Result<N, ConfigError> {
    let text = value.to_string_lossy();
    let malformed = || ConfigError::Variable { name, value: text.to_string(), expected: "a whole number" };
    text.parse().map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::config::flags::Cli;

    /// Samples and seed, as flags, variables and a settings file give them.
    fn check(flags: &[&str], variables: [Option<&str>; 2], file: &str) -> Result<(usize, u64), String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(SETTINGS_FILE), file).unwrap();
        let words = ["repair", "--at", "A.java:1", "--test", "A#b"];
        let cli = Cli::try_parse_from(words.iter().chain(flags)).unwrap();
        let [samples, seed] = variables.map(|value| value.map(OsString::from));
        let environment = Environment { cache: Some("c".into()), samples, seed, ..Environment::default() };
        resolve(&cli.repair, &environment, dir.path())
            .map(|config| (config.samples, config.search.seed))
            .map_err(|error| error.to_string().replace(&format!("{}/", dir.path().display()), ""))
    }

    #[test]
    fn flags_go_before_variables_before_the_file_before_defaults() {
        assert_eq!(check(&[], [None; 2], ""), Ok((100, 0)));
        assert_eq!(check(&[], [None; 2], "samples = 5\nseed = 6"), Ok((5, 6)));
        assert_eq!(check(&[], [Some("7"), None], "samples = 5\nseed = 6"), Ok((7, 6)));
        assert_eq!(check(&["-n", "9"], [Some("7"), Some("8")], "samples = 5"), Ok((9, 8)));
    }

    #[test]
    fn a_setting_out_of_range_is_named_with_what_may_be_given() {
        let message = |flags: &[&str]| check(flags, [None; 2], "").unwrap_err();
        assert_eq!(message(&["--temperature", "0"]), "--temperature is 0, but must be above 0");
        assert_eq!(message(&["--top-p", "1.5"]), "--top-p is 1.5, but must be above 0 and at most 1");
        assert_eq!(message(&["-n", "0"]), "--samples is 0, but must be at least 1");
    }

    #[test]
    fn a_wrong_variable_or_settings_file_is_named() {
        assert_eq!(
            check(&[], [Some("x"), None], "").unwrap_err(),
            "`REPAIR_SAMPLES=x` is not a whole number"
        );
        let message = check(&[], [None; 2], "seed = 1\nsampels = 5").unwrap_err();
        assert!(
            message.starts_with("cannot use `repair.toml`: line 2: unknown field `sampels`"),
            "{message}"
        );
    }
}
