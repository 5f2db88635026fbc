//! A project, its language server, the default model, and holes cut out of method bodies.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use repair::bug::Lines;
use repair::build::{self, Overrides, Tools};
use repair::cloze::Cloze;
use repair::config::flags::PartFlags;
use repair::config::{self, Environment};
use repair::engine::{self, CompletionEngine as _, HolePlace, JdtEngine, ServerSettings};
use repair::java::project::{BuildTool, Project};
use repair::model::{self, LoadOptions, Model, PromptParts};
use repair::process::Interrupt;
use repair::retrieval::{Exclusion, Prior, Source, read_sources};
use repair::text;
use repair::token::TokenId;
use sha2::{Digest as _, Sha256};

/// All that the studies work with.
pub struct Lab {
    pub engine: JdtEngine,
    pub model: Box<dyn Model + Send>,
    project: Project,
    sources: Vec<Source>,
    /// Lines that look like statements: file and number.
    lines: Vec<(PathBuf, usize)>,
    _scratch: tempfile::TempDir,
}

/// A hole that the engine has open.
pub struct OpenHole {
    pub name: String,
    pub cloze: Cloze,
    pub prompt: Vec<TokenId>,
    pub prior: Prior,
}

impl Lab {
    pub fn open(root: &Path, class_path: &[PathBuf]) -> anyhow::Result<Self> {
        let (scratch, interrupt) = (tempfile::tempdir()?, Interrupt::default());
        let parts = config::parts(&PartFlags::default(), &Environment::read())?;
        let tools = Tools {
            jdks: build::jdk::find_jdks(&parts.jdk_places, &interrupt),
            mvn: None,
            junit: Vec::new(),
        };
        let overrides = Overrides {
            build_tool: Some(BuildTool::Plain),
            class_path: class_path.to_vec(),
            ..Overrides::default()
        };
        let project = build::inspect(root, &overrides, &tools, scratch.path(), &interrupt)?;
        let settings = ServerSettings {
            java: engine::choose_java(&parts.server_javas)?,
            jdtls_home: parts.jdtls_home,
            bundle: parts.bundle,
            state_dir: scratch.path().join("server"),
            start_deadline: Duration::from_secs(300),
            request_deadline: Duration::from_secs(30),
            heap_mb: 1500,
        };
        let decode = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            engine: JdtEngine::start(settings, &project)?,
            model: model::load(&parts.model, LoadOptions { threads: Some(1), ..LoadOptions::default() })?,
            sources: read_sources(&project.root, &project.sources, &decode)?,
            lines: statements(&project)?,
            project,
            _scratch: scratch,
        })
    }

    /// The `number`-th hole of a seed: a line that is one statement in a body.
    pub fn open_hole(&mut self, number: usize, seed: u64) -> anyhow::Result<OpenHole> {
        let mut found = 0;
        for draw in 0u64.. {
            let digest = Sha256::digest([seed.to_le_bytes(), draw.to_le_bytes()].concat());
            let pick = u64::from_le_bytes(digest[..8].try_into()?) as usize % self.lines.len();
            let (file, line) = self.lines[pick].clone();
            let source = text::Source::new(std::fs::read(&file)?, "UTF-8")?;
            let cloze = Cloze::new(source, Lines::Replace { first: line, last: line })?;
            self.engine.open(&file, &cloze.prefix, &cloze.original, &cloze.suffix)?;
            if self.engine.place() != HolePlace::Body {
                continue;
            }
            if found == number {
                return self.lay_out(&file, line, cloze);
            }
            found += 1;
        }
        unreachable!("draws do not end")
    }

    fn lay_out(&self, file: &Path, line: usize, cloze: Cloze) -> anyhow::Result<OpenHole> {
        let path = file.strip_prefix(&self.project.root)?.to_string_lossy().into_owned();
        let parts = PromptParts { context: Vec::new(), prefix: &cloze.prefix, suffix: &cloze.suffix };
        let prompt = self.model.prompt(&parts)?.ids;
        let start = cloze.prefix.len();
        let hole = Exclusion { path: &path, bytes: start..start + cloze.original.len() };
        let mut encode = |text: &str| Ok::<_, Infallible>(self.model.encode(text).unwrap_or_default());
        let Ok(prior) = Prior::of_sources(&self.sources, &[hole], &mut encode);
        let stem = file.file_stem().context("a source has a name")?.to_string_lossy();
        Ok(OpenHole { name: format!("{stem}:{line}"), cloze, prompt, prior })
    }
}

/// Lines that end with `;`, hold their brackets in balance, and begin like a statement.
fn statements(project: &Project) -> anyhow::Result<Vec<(PathBuf, usize)>> {
    let mut lines = Vec::new();
    for root in &project.sources {
        for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
            let path = entry?.into_path();
            if path.extension().is_none_or(|extension| extension != "java") {
                continue;
            }
            let Ok(text) = String::from_utf8(std::fs::read(&path)?) else { continue };
            let numbered = (1..).zip(text.lines());
            let wanted = numbered.filter(|(_, line)| is_statement(line)).map(|(number, _)| number);
            lines.extend(wanted.map(|number| (path.clone(), number)));
        }
    }
    anyhow::ensure!(!lines.is_empty(), "no statements below the project's source roots");
    Ok(lines)
}

fn is_statement(line: &str) -> bool {
    let line = line.trim();
    let count = |c| line.matches(c).count();
    let begins = ["import ", "package ", "*", "//", "/*", "@", "case ", "public ", "private ", "protected "];
    line.ends_with(';')
        && line.len() > 8
        && count('(') == count(')')
        && count('{') == count('}')
        && !begins.iter().any(|begin| line.starts_with(begin))
}
