//! A checkpoint as its authors publish it: a directory with one weights file, or several and an index that says which
//! tensor is in which.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use candle_core::Tensor;
use serde::Deserialize;

use super::super::error::WeightsError;
use super::pickle::PickleFile;
use super::safetensors::SafetensorsFile;
use super::{Weights, check_shape};

/// Names that the libraries of the hub write, the preferred first.
const SINGLE: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];
const INDEX: [&str; 2] = ["model.safetensors.index.json", "pytorch_model.bin.index.json"];

enum Part {
    Safetensors(SafetensorsFile),
    Pickle(PickleFile),
}

impl Part {
    fn open(path: &Path) -> Result<Self, WeightsError> {
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            SafetensorsFile::open(path).map(Self::Safetensors)
        } else {
            PickleFile::open(path).map(Self::Pickle)
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Safetensors(file) => file.names().cloned().collect(),
            Self::Pickle(file) => file.names().cloned().collect(),
        }
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        match self {
            Self::Safetensors(file) => file.shape(name),
            Self::Pickle(file) => file.shape(name),
        }
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        match self {
            Self::Safetensors(file) => file.tensor(name, shape),
            Self::Pickle(file) => file.tensor(name, shape),
        }
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

/// All tensors of a checkpoint.
pub(in crate::model) struct Checkpoint {
    paths: Vec<PathBuf>,
    parts: Vec<Part>,
    /// Which part a tensor is in.
    places: HashMap<String, usize>,
}

impl Checkpoint {
    /// Opens the weights in `dir`; every file that an index names must be there.
    pub(in crate::model) fn open(dir: &Path) -> Result<Self, WeightsError> {
        let paths = files(dir)?;
        let parts = paths.iter().map(|path| {
            Part::open(path)
                .map_err(|source| WeightsError::Part { path: path.clone(), source: Box::new(source) })
        });
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let of_part = |(i, part): (usize, &Part)| {
            part.names().into_iter().map(move |name| (name, i)).collect::<Vec<_>>()
        };
        let places = parts.iter().enumerate().flat_map(of_part).collect();
        Ok(Self { paths, parts, places })
    }

    /// Numbers in all tensors.
    pub(in crate::model) fn n_numbers(&self) -> u64 {
        let of_part = |(name, &part): (&String, &usize)| self.parts[part].shape(name).map_or(0, numbers);
        self.places.iter().map(of_part).fold(0, u64::saturating_add)
    }

    /// The weights files, in a fixed order.
    pub(in crate::model) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

impl Weights for Checkpoint {
    fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let missing = || WeightsError::MissingTensor(name.to_owned());
        let part = *self.places.get(name).ok_or_else(missing)?;
        check_shape(name, self.parts[part].shape(name).unwrap_or_default(), shape)?;
        self.parts[part].tensor(name, shape)
    }
}

/// The weights files of a directory: one, or those that an index names, in the order of their names.
pub(in crate::model) fn files(dir: &Path) -> Result<Vec<PathBuf>, WeightsError> {
    for (single, index) in SINGLE.into_iter().zip(INDEX) {
        let (single, index) = (dir.join(single), dir.join(index));
        if single.is_file() {
            return Ok(vec![single]);
        }
        if index.is_file() {
            let text = std::fs::read_to_string(&index)?;
            let index: Index = serde_json::from_str(&text)
                .map_err(|source| WeightsError::Json { path: index.clone(), source })?;
            let names: BTreeSet<String> = index.weight_map.into_values().collect();
            return names.into_iter().map(|name| part(dir, &name)).collect();
        }
    }
    Err(WeightsError::NoWeights)
}

fn numbers(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |n, &dim| n.saturating_mul(dim as u64))
}

/// A file beside the index, and nowhere else.
fn part(dir: &Path, name: &str) -> Result<PathBuf, WeightsError> {
    let path = dir.join(name);
    let is_beside = Path::new(name).file_name().is_some_and(|file_name| file_name == name);
    if is_beside && path.is_file() { Ok(path) } else { Err(WeightsError::MissingPart(name.to_owned())) }
}
