//! `repair doctor`: every part found or missing, with the command that mends it.

use std::path::Path;

use serde::Serialize;

use super::bugs;
use crate::build::jdk::find_jdks;
use crate::cli::Exit;
use crate::config::flags::{BenchmarkFlags, DoctorFlags, Format};
use crate::config::{self, Environment, Parts};
use crate::console::Console;
use crate::defects4j::checkout::required_java;
use crate::engine;
use crate::model::{self, Hub, LoadOptions};
use crate::process::Interrupt;
use crate::validate::sandbox::Sandbox;

const SETUP: &str = "./scripts/setup.sh";

/// One part of the environment.
#[derive(Debug, Serialize)]
struct Part {
    name: &'static str,
    /// Nothing works without it.
    needed: bool,
    found: bool,
    /// What was found, or what is wrong.
    detail: String,
    /// The command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<&'static str>,
}

/// Looks for every part and prints what was found.
pub fn run(
    flags: &DoctorFlags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &Console,
) -> anyhow::Result<Exit> {
    let parts = config::parts(&flags.parts, environment)?;
    let mut found = examine(&parts, interrupt)?;
    found.push(part("embedding model", false, embedding_model(environment), SETUP));
    found.push(benchmark(environment, here));
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&found)?),
        Format::Text => found.iter().map(line).collect(),
    });
    let is_usable = found.iter().all(|part| part.found || !part.needed);
    Ok(if is_usable { Exit::Success } else { Exit::Environment })
}

fn line(part: &Part) -> String {
    let state = match (part.found, part.needed) {
        (true, _) => "found  ",
        (false, true) => "MISSING",
        (false, false) => "absent ",
    };
    let mend = part.mend.map(|mend| format!("\n{:27}mend: {mend}", "")).unwrap_or_default();
    format!("{state}  {:16}  {}{mend}\n", part.name, part.detail)
}

fn examine(parts: &Parts, interrupt: &Interrupt) -> anyhow::Result<Vec<Part>> {
    let path = |path: &std::path::Path| path.display().to_string();
    let file = |path: &std::path::Path| {
        if path.is_file() {
            Ok(path.display().to_string())
        } else {
            Err(format!("no file {}", path.display()))
        }
    };
    let jdks = find_jdks(&parts.jdk_places, interrupt);
    let jdk_list =
        jdks.iter().map(|jdk| format!("{} in {}", jdk.feature, jdk.home.display())).collect::<Vec<_>>();
    let (sandbox, why_not) = Sandbox::detect(parts.bwrap.as_deref(), interrupt)?;
    let junit = match parts.junit.len() {
        0..3 => Err(format!("{} of 3 jars in {}", parts.junit.len(), path(&parts.cache.join("junit")))),
        n => Ok(format!("{n} jars in {}", path(&parts.cache.join("junit")))),
    };
    let tool = |tool: &Option<std::path::PathBuf>| tool.as_deref().map(path).ok_or("not on PATH".to_owned());
    Ok(vec![
        part(
            "server Java",
            true,
            engine::choose_java(&parts.server_javas).map(|java: std::path::PathBuf| path(&java)),
            SETUP,
        ),
        part("language server", true, engine::describe_server(&parts.jdtls_home), SETUP),
        part("server bundle", true, file(&parts.bundle), SETUP),
        part("model weights", true, weights(parts), SETUP),
        part("test runner", true, file(&parts.runner), SETUP),
        part("JUnit", true, junit, SETUP),
        part(
            "project JDK",
            true,
            if jdks.is_empty() { Err("no JDK with a compiler".to_owned()) } else { Ok(jdk_list.join(", ")) },
            "apt-get install default-jdk-headless",
        ),
        part("Maven", false, tool(&parts.mvn), "apt-get install maven"),
        part("git", false, tool(&parts.git), "apt-get install git"),
        part(
            "sandbox",
            false,
            match (sandbox, why_not) {
                (Sandbox::Bubblewrap(bwrap), _) => Ok(path(&bwrap)),
                (_, why) => Err(format!("{}; limits only", why.unwrap_or_default())),
            },
            "apt-get install bubblewrap",
        ),
    ])
}

/// Defects4J with its release, and what of it does not work with every Java.
fn benchmark(environment: &Environment, here: Option<&Path>) -> Part {
    let found = bugs::defects4j(&BenchmarkFlags::default(), environment, here);
    let described = found.map(|(framework, _)| {
        let version = framework.version().unwrap_or_else(|| "of unknown release".to_owned());
        let java = required_java(&framework).map_or_else(String::new, |release| {
            format!("; its own compile and test need Java {release}, which nothing here uses")
        });
        format!("{version} in {}{java}", framework.home().display())
    });
    part("Defects4J", false, described, "export DEFECTS4J_HOME=DIR")
}

/// The model of search by meaning.
fn embedding_model(environment: &Environment) -> Result<String, String> {
    let dir = config::embedder_dir(None, environment).map_err(|error| one_line(&error))?;
    let embedder = model::Embedder::load(&dir, None).map_err(|error| one_line(&error))?;
    Ok(format!("{} numbers a text in {}", embedder.width(), dir.display()))
}

fn weights(parts: &Parts) -> Result<String, String> {
    // Nothing is fetched for being looked at.
    let hub = Hub { offline: true, ..parts.hub.clone() };
    let options = LoadOptions { threads: parts.threads, device: parts.device, ..LoadOptions::default() };
    let model = model::locate(&parts.model, &hub, &mut |_| ()).and_then(|path| model::load(&path, options));
    let model = model.map_err(|error| one_line(&error))?;
    let identity = model.identity();
    Ok(format!("{} ({}) in {}", identity.name, identity.architecture, identity.path.display()))
}

fn part<E: std::fmt::Display>(
    name: &'static str,
    needed: bool,
    result: Result<String, E>,
    mend: &'static str,
) -> Part {
    match result {
        Ok(detail) => Part { name, needed, found: true, detail, mend: None },
        Err(error) => Part { name, needed, found: false, detail: error.to_string(), mend: Some(mend) },
    }
}

fn one_line(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", one_line(cause))).unwrap_or_default();
    format!("{error}{cause}")
}
