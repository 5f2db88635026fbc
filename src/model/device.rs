//! Where a model computes.

use std::str::FromStr;

use candle_core::{DType, Device};

use super::error::ModelError;
use super::network::Place;

/// A device by its name on the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The processor, in f32.
    #[default]
    Cpu,
    /// An NVIDIA GPU by its number, in bf16; the build needs the feature `cuda`.
    Cuda(usize),
    /// Apple's GPU, in bf16; the build needs the feature `metal`.
    Metal,
}

/// A name that no device has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no device: expected cpu, cuda, cuda:N or metal")]
pub struct UnknownDevice(String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownDevice(text.to_owned());
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            None if text == "metal" => Ok(Self::Metal),
            Some(("cuda", number)) => number.parse().map(Self::Cuda).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu => write!(f, "cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Metal => write!(f, "metal"),
        }
    }
}

impl DeviceChoice {
    /// Opens the device. T5 overflows in f16, so a GPU computes in bf16.
    pub(super) fn place(self) -> Result<Place, ModelError> {
        let opened = match self {
            Self::Cpu => return Ok(Place::cpu()),
            Self::Cuda(_) if !cfg!(feature = "cuda") => {
                return Err(ModelError::NoFeature { device: self, feature: "cuda" });
            }
            Self::Metal if !cfg!(feature = "metal") => {
                return Err(ModelError::NoFeature { device: self, feature: "metal" });
            }
            Self::Cuda(number) => Device::new_cuda(number),
            Self::Metal => Device::new_metal(0),
        };
        let device = opened.map_err(|source| ModelError::Device { device: self, source })?;
        Ok(Place { device, dtype: DType::BF16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_as_they_are_written() {
        for name in ["cpu", "cuda:0", "cuda:3", "metal"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for name in ["", "gpu", "cuda:", "cuda:x", "cpu:1"] {
            assert!(name.parse::<DeviceChoice>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_build_without_the_feature_says_how_to_get_it() {
        if cfg!(not(feature = "cuda")) {
            let error = DeviceChoice::Cuda(1).place().err().unwrap();
            let expected = "this build cannot compute on cuda:1: build it with `cargo build --features cuda`";
            assert_eq!(error.to_string(), expected);
        }
    }
}
