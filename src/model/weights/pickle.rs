//! One `.bin` file: a zip archive of tensors with a pickled directory, read without running anything in it.

use std::path::Path;

use candle_core::pickle::PthTensors;
use candle_core::{DType, Tensor};

use super::super::error::WeightsError;
use super::check_shape;

pub(super) struct PickleFile {
    tensors: PthTensors,
}

impl PickleFile {
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        std::fs::metadata(path)?;
        // The directory of a zip archive is at its end, so a file that was cut short is told here.
        let tensors = PthTensors::new(path, None).map_err(WeightsError::Pickle)?;
        Ok(Self { tensors })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.tensors.tensor_infos().keys()
    }

    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.tensor_infos().get(name).map(|info| info.layout.dims())
    }

    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let missing = || WeightsError::MissingTensor(name.to_owned());
        let info = self.tensors.tensor_infos().get(name).ok_or_else(missing)?;
        check_shape(name, info.layout.dims(), shape)?;
        if !matches!(info.dtype, DType::F32 | DType::F16 | DType::BF16 | DType::F64) {
            return Err(WeightsError::Dtype { name: name.to_owned(), found: format!("{:?}", info.dtype) });
        }
        // Candle 0.11 takes the offset of a view, counted in elements, for bytes, and would read other numbers.
        if info.layout.start_offset() != 0 {
            return Err(WeightsError::View(name.to_owned()));
        }
        let tensor =
            self.tensors.get(name).and_then(|tensor| tensor.map(|t| t.to_dtype(DType::F32)).transpose());
        let tensor = tensor.map_err(|source| WeightsError::Tensor { name: name.to_owned(), source })?;
        tensor.ok_or_else(missing)
    }
}
