//! Models by name: a path, a short name, or a name on the Hugging Face hub, with the hub's own cache on disk.
//!
//! The cache is laid out as its other clients lay it out, so what they fetched is used and the other way round. A download
//! that broke off goes on where it was; a file whose digest the hub knows is held against it.

use std::path::{Path, PathBuf};

use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo};

use super::error::ModelError;
use super::known::Known;
use super::weights::files;

mod choice;

use choice::{Choice, choose};

/// The hub, as the environment describes it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hub {
    /// `HF_HUB_CACHE`, else `HF_HOME/hub`.
    pub cache: PathBuf,
    /// `HF_ENDPOINT`; `None` for the public hub.
    pub endpoint: Option<String>,
    /// `HF_TOKEN`.
    pub token: Option<String>,
    /// `HF_HUB_OFFLINE`: only what is in the cache.
    pub offline: bool,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = self.token.as_ref().map(|_| "...");
        let hub = &mut f.debug_struct("Hub");
        hub.field("cache", &self.cache).field("endpoint", &self.endpoint);
        hub.field("token", &token).field("offline", &self.offline).finish()
    }
}

/// A download that is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// The file.
    pub file: String,
    /// Bytes that are here.
    pub done: usize,
    /// Bytes of the file.
    pub size: usize,
}

/// A name with what stands behind its colon.
#[derive(Debug, PartialEq, Eq)]
struct Spec<'a> {
    name: &'a str,
    variant: Option<&'a str>,
}

impl<'a> Spec<'a> {
    fn parse(text: &'a str) -> Self {
        match text.rsplit_once(':') {
            Some((name, variant)) if !name.is_empty() && !variant.contains(['/', '\\']) => {
                Self { name, variant: Some(variant) }
            }
            _ => Self { name: text, variant: None },
        }
    }

    /// The name on the hub, if it is one: a known short name, or an owner and a name. Anything that looks like a path is
    /// one.
    fn id(&self) -> Option<&'a str> {
        if let Some(known) = Known::find(self.name) {
            return Some(known.id);
        }
        let is_part = |part: &str| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(is_name)
        };
        let (owner, name) = self.name.split_once('/')?;
        let is_file = Path::new(name).extension().is_some_and(|extension| extension == "gguf");
        (is_part(owner) && is_part(name) && !is_file).then_some(self.name)
    }
}

/// Where the weights of `name` are: a path as it is, else `NAME[:VARIANT]` in the hub's cache, else fetched into it. The
/// variant chooses one of several GGUF files, `Q4_K_M` for example.
pub fn locate(name: &Path, hub: &Hub, progress: &mut dyn FnMut(&Download)) -> Result<PathBuf, ModelError> {
    let Some(text) = name.to_str().filter(|_| !name.exists()) else { return Ok(name.to_owned()) };
    let spec = Spec::parse(text);
    if let (Some(variant), true) = (spec.variant, Path::new(spec.name).is_dir()) {
        return of_directory(Path::new(spec.name), variant);
    }
    // A path that is not there is told as such by whoever reads it.
    let Some(id) = spec.id() else { return Ok(name.to_owned()) };
    if let Some(path) = cached(id, spec.variant, hub) {
        return Ok(path);
    }
    if hub.offline {
        return Err(ModelError::Offline { name: id.to_owned(), cache: hub.cache.clone() });
    }
    fetch(id, spec.variant, hub, progress)
}

/// The snapshot of a model in the cache, if all of it is there.
pub(super) fn cached(id: &str, variant: Option<&str>, hub: &Hub) -> Option<PathBuf> {
    let cache = Cache::new(hub.cache.clone()).repo(Repo::model(id.to_owned()));
    if let Some(config) = cache.get("config.json").filter(|_| variant.is_none()) {
        let dir = config.parent()?.to_owned();
        return files(&dir).is_ok().then_some(dir);
    }
    let reference = hub.cache.join(Repo::model(id.to_owned()).folder_name()).join("refs/main");
    let commit = std::fs::read_to_string(reference).ok()?;
    let snapshot = cache.pointer_path(commit.trim());
    of_directory(&snapshot, variant.unwrap_or_default()).ok().filter(|path| path.is_file())
}

impl Known {
    /// Where the hub's cache has it, whole.
    pub fn cached(&self, hub: &Hub) -> Option<PathBuf> {
        cached(self.id, None, hub)
    }
}

/// The GGUF file of a directory whose name holds `variant`.
fn of_directory(dir: &Path, variant: &str) -> Result<PathBuf, ModelError> {
    let io = |source| ModelError::Cache { path: dir.to_owned(), source };
    let names = std::fs::read_dir(dir).map_err(io)?.filter_map(Result::ok);
    let names: Vec<String> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    match choose(&names, Some(variant)) {
        Some(Choice::Gguf(file)) => Ok(dir.join(file)),
        _ => Err(ModelError::NoVariant { dir: dir.to_owned(), variant: variant.to_owned() }),
    }
}

/// Tells one download's progress.
struct Reporter<'a> {
    progress: &'a mut dyn FnMut(&Download),
    state: Download,
}

impl Progress for Reporter<'_> {
    fn init(&mut self, size: usize, _file: &str) {
        self.state = Download { size, done: 0, ..self.state.clone() };
        (self.progress)(&self.state);
    }

    fn update(&mut self, size: usize) {
        self.state.done += size;
        (self.progress)(&self.state);
    }

    fn finish(&mut self) {}
}

fn fetch(
    id: &str,
    variant: Option<&str>,
    hub: &Hub,
    progress: &mut dyn FnMut(&Download),
) -> Result<PathBuf, ModelError> {
    let failed = |file: &str| {
        let (name, file) = (id.to_owned(), file.to_owned());
        move |source: ApiError| ModelError::Hub { name, file, source: Box::new(source) }
    };
    let repo = api(hub).map_err(failed("connection"))?.model(id.to_owned());
    let info = repo.info().map_err(failed("list of files"))?;
    let names: Vec<String> = info.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
    let missing = |what: &str| ModelError::NotOnHub { name: id.to_owned(), what: what.to_owned() };
    let mut get = |file: &str| {
        get(&repo, file, progress).map_err(|error| match error {
            Fetch::Hub(error) => failed(file)(error),
            Fetch::Model(error) => error,
        })
    };
    match choose(&names, variant).ok_or_else(|| missing("weights that this program reads"))? {
        Choice::Gguf(file) => get(&file),
        Choice::Checkpoint { small, weights, index } => {
            let mut config = None;
            for file in small.iter().chain(&index) {
                let path = get(file)?;
                config = config.or(Some(path).filter(|path| path.ends_with("config.json")));
            }
            for file in &weights {
                get(file)?;
            }
            let config = config.ok_or_else(|| missing("`config.json`"))?;
            Ok(config.parent().map(Path::to_owned).unwrap_or_default())
        }
    }
}

enum Fetch {
    Hub(ApiError),
    Model(ModelError),
}

/// One file, from the cache if it is there; its digest is held against the name that the cache gives it, which for large
/// files is their SHA-256.
fn get(repo: &ApiRepo, file: &str, progress: &mut dyn FnMut(&Download)) -> Result<PathBuf, Fetch> {
    let state = Download { file: file.to_owned(), done: 0, size: 0 };
    let path = repo.download_with_progress(file, Reporter { progress, state }).map_err(Fetch::Hub)?;
    let io = |source| Fetch::Model(ModelError::Cache { path: path.clone(), source });
    let blob = path.canonicalize().map_err(io)?;
    let expected = blob.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if expected.len() != 64 || !expected.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(path);
    }
    let found = super::local::sha256(std::slice::from_ref(&blob)).map_err(io)?;
    if found == expected {
        return Ok(path);
    }
    std::fs::remove_file(&blob).and_then(|()| std::fs::remove_file(&path)).map_err(io)?;
    Err(Fetch::Model(ModelError::Damaged { path, expected, found }))
}

fn api(hub: &Hub) -> Result<Api, ApiError> {
    let builder = ApiBuilder::from_cache(Cache::new(hub.cache.clone())).with_progress(false);
    let builder = builder.with_token(hub.token.clone()).with_retries(3);
    match &hub.endpoint {
        Some(endpoint) => builder.with_endpoint(endpoint.trim_end_matches('/').to_owned()).build(),
        None => builder.build(),
    }
}

#[cfg(test)]
mod tests;
