//! One `.safetensors` file: the header checked against the length of the file, tensors read one by one.
//!
//! Nothing is mapped (that would be `unsafe`) and nothing is kept but the header, so a model is in memory once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::{DType, Tensor};
use safetensors::tensor::{Metadata, TensorInfo};

use super::super::error::WeightsError;
use super::{check_shape, to_f32};

/// Bytes of the number that says how long the header is.
const LENGTH: usize = 8;
/// Longest header, as the format itself has it.
const LONGEST_HEADER: u64 = 100_000_000;

pub(super) struct SafetensorsFile {
    file: File,
    /// Where the tensors' bytes begin.
    start: u64,
    tensors: HashMap<String, TensorInfo>,
}

impl SafetensorsFile {
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let mut header = vec![0; LENGTH];
        file.read_exact(&mut header).map_err(|_| WeightsError::SafetensorsHeader)?;
        let header_len = u64::from_le_bytes(header[..LENGTH].try_into().expect("eight bytes"));
        if header_len > LONGEST_HEADER || header_len + LENGTH as u64 > len {
            return Err(WeightsError::SafetensorsHeader);
        }
        header.resize(header_len as usize, 0);
        file.read_exact(&mut header)?;
        // The extents are held against the shapes here, but not against the file.
        let metadata: Metadata =
            serde_json::from_slice(&header).map_err(|_| WeightsError::SafetensorsHeader)?;
        let tensors: HashMap<String, TensorInfo> =
            metadata.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        let start = LENGTH as u64 + header_len;
        let last = tensors.iter().max_by_key(|(name, info)| (info.data_offsets.1, name.as_str()));
        match last.map(|(name, info)| (name, start + info.data_offsets.1 as u64)) {
            Some((name, end)) if end > len => Err(WeightsError::Truncated { tensor: name.clone(), end, len }),
            _ => Ok(Self { file, start, tensors }),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.tensors.keys()
    }

    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|info| info.shape.as_slice())
    }

    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let info = self.tensors.get(name).ok_or_else(|| WeightsError::MissingTensor(name.to_owned()))?;
        check_shape(name, &info.shape, shape)?;
        let Ok(dtype @ (DType::F32 | DType::F16 | DType::BF16 | DType::F64)) = DType::try_from(info.dtype)
        else {
            return Err(WeightsError::Dtype { name: name.to_owned(), found: format!("{:?}", info.dtype) });
        };
        let (first, end) = info.data_offsets;
        let mut bytes = vec![0; end - first];
        self.file.seek(SeekFrom::Start(self.start + first as u64))?;
        self.file.read_exact(&mut bytes)?;
        to_f32(name, &bytes, dtype, shape)
    }
}
