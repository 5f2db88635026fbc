//! Where the numbers of a network come from: tensors by name, whatever the format of the file.

use candle_core::{Device, Tensor};

use super::error::WeightsError;
use super::network::{Linear, Place};

mod checkpoint;
mod pickle;
mod safetensors;

pub(super) use checkpoint::{Checkpoint, files};

/// Tensors by name.
pub(super) trait Weights {
    fn has(&self, name: &str) -> bool;

    /// The tensor as f32 on the CPU; it must have this shape.
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError>;
}

/// Loads the parts of a network to where it computes.
pub(super) struct Loader<'a> {
    weights: &'a mut dyn Weights,
    pub(super) place: &'a Place,
}

impl<'a> Loader<'a> {
    pub(super) fn new(weights: &'a mut dyn Weights, place: &'a Place) -> Self {
        Self { weights, place }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.weights.has(name)
    }

    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let tensor = self.weights.tensor(name, shape)?;
        self.settle(name, &tensor)
    }

    /// Still on the CPU and in f32, for values that are computed with before they settle.
    pub(super) fn raw(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        self.weights.tensor(name, shape)
    }

    /// Moves a tensor to where the network computes.
    pub(super) fn settle(&self, name: &str, tensor: &Tensor) -> Result<Tensor, WeightsError> {
        let moved = tensor.to_dtype(self.place.dtype).and_then(|tensor| tensor.to_device(&self.place.device));
        moved.map_err(|source| WeightsError::Tensor { name: name.to_owned(), source })
    }

    /// `NAME.weight` `[rows, columns]`, and `NAME.bias` if it is there.
    pub(super) fn linear(&mut self, name: &str, rows: usize, columns: usize) -> Result<Linear, WeightsError> {
        let weight = self.tensor(&format!("{name}.weight"), &[rows, columns])?;
        let bias = format!("{name}.bias");
        let bias = self.has(&bias).then(|| self.tensor(&bias, &[rows])).transpose()?;
        Ok(Linear { weight, bias })
    }
}

/// Turns the bytes of a tensor, little-endian and row by row, into f32 on the CPU.
fn to_f32(
    name: &str,
    bytes: &[u8],
    dtype: candle_core::DType,
    shape: &[usize],
) -> Result<Tensor, WeightsError> {
    let tensor = Tensor::from_raw_buffer(bytes, dtype, shape, &Device::Cpu);
    let tensor = tensor.and_then(|tensor| tensor.to_dtype(candle_core::DType::F32));
    tensor.map_err(|source| WeightsError::Tensor { name: name.to_owned(), source })
}

/// The shape that a tensor must have, or the error that says so.
pub(super) fn check_shape(name: &str, found: &[usize], expected: &[usize]) -> Result<(), WeightsError> {
    if found == expected {
        return Ok(());
    }
    Err(WeightsError::Shape { name: name.to_owned(), expected: expected.to_vec(), found: found.to_vec() })
}
