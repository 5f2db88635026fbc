//! Reading a GGUF file: metadata by key, tensors dequantised to f32, and every way a file can be wrong.
//!
//! The extents of all tensors are held against the length of the file before any is read, so a download that broke off
//! is told at once. Nothing here knows what the numbers mean.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};
use candle_core::{Device, Tensor};

use super::error::WeightsError;
use super::weights::{Weights, check_shape};

const MAGIC: &[u8] = b"GGUF";
const ALIGNMENT_KEY: &[u8] = b"general.alignment";

/// An open GGUF file whose header has been read and checked.
pub(super) struct Gguf {
    content: Content,
    reader: BufReader<File>,
}

impl Gguf {
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        let mut reader = Guarded { inner: BufReader::new(file), seen: Seen::Other };
        let mut magic = Vec::new();
        reader.inner.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic != MAGIC {
            return Err(WeightsError::NotGguf);
        }
        reader.seek(SeekFrom::Start(0))?;
        let content = Content::read(&mut reader).map_err(WeightsError::Header)?;
        check_extents(&content, len)?;
        Ok(Self { content, reader: reader.inner })
    }

    /// The value of `key` if it is there, whatever its type.
    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    fn required(&self, key: &str) -> Result<&Value, WeightsError> {
        self.value(key).ok_or_else(|| WeightsError::MissingKey(key.to_owned()))
    }

    /// A string that must be there.
    pub(super) fn text(&self, key: &str) -> Result<&str, WeightsError> {
        match self.required(key)? {
            Value::String(text) => Ok(text),
            _ => Err(bad(key, "a string")),
        }
    }

    /// A string, `None` when it is absent or something else.
    pub(super) fn optional_text(&self, key: &str) -> Option<&str> {
        self.value(key).and_then(|value| value.to_string().ok()).map(String::as_str)
    }

    /// A count that must be there: a whole number from 1 to 2^31.
    pub(super) fn count(&self, key: &str) -> Result<usize, WeightsError> {
        let value = whole(self.required(key)?).filter(|n| (1..1 << 31).contains(n));
        value.map(|n| n as usize).ok_or_else(|| bad(key, "a positive whole number"))
    }

    /// A count that may be left out.
    pub(super) fn optional_count(&self, key: &str) -> Result<Option<usize>, WeightsError> {
        self.value(key).map(|_| self.count(key)).transpose()
    }

    /// A positive finite number that may be left out.
    pub(super) fn optional_number(&self, key: &str) -> Result<Option<f32>, WeightsError> {
        self.value(key).map(|_| self.number(key)).transpose()
    }

    /// A positive finite number that must be there.
    pub(super) fn number(&self, key: &str) -> Result<f32, WeightsError> {
        match self.required(key)? {
            Value::F32(x) if x.is_finite() && *x > 0.0 => Ok(*x),
            _ => Err(bad(key, "a positive number")),
        }
    }

    /// An array of strings that must be there.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&str>, WeightsError> {
        let items = self.array(key)?.iter().map(|item| item.to_string().ok().map(String::as_str));
        items.collect::<Option<_>>().ok_or_else(|| bad(key, "an array of strings"))
    }

    /// An array of whole numbers that must be there.
    pub(super) fn wholes(&self, key: &str) -> Result<Vec<i64>, WeightsError> {
        let items = self.array(key)?.iter().map(whole);
        items.collect::<Option<_>>().ok_or_else(|| bad(key, "an array of whole numbers"))
    }

    fn array(&self, key: &str) -> Result<&[Value], WeightsError> {
        match self.required(key)? {
            Value::Array(items) => Ok(items),
            _ => Err(bad(key, "an array")),
        }
    }

    /// Rows of a matrix without reading it.
    pub(super) fn rows(&self, name: &str) -> Result<usize, WeightsError> {
        Ok(self.info(name)?.shape.dims().first().copied().unwrap_or(0))
    }

    /// Numbers in all tensors.
    pub(super) fn n_numbers(&self) -> u64 {
        self.content
            .tensor_infos
            .values()
            .map(|info| info.shape.elem_count() as u64)
            .fold(0, u64::saturating_add)
    }

    /// Whether there is such a tensor.
    pub(super) fn has_tensor(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    fn info(&self, name: &str) -> Result<&TensorInfo, WeightsError> {
        self.content.tensor_infos.get(name).ok_or_else(|| WeightsError::MissingTensor(name.to_owned()))
    }
}

impl Weights for Gguf {
    fn has(&self, name: &str) -> bool {
        self.has_tensor(name)
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        check_shape(name, self.info(name)?.shape.dims(), shape)?;
        let device = Device::Cpu;
        let tensor = self.content.tensor(&mut self.reader, name, &device).and_then(|t| t.dequantize(&device));
        tensor.map_err(|source| WeightsError::Tensor { name: name.to_owned(), source })
    }
}

fn bad(key: &str, expected: &'static str) -> WeightsError {
    WeightsError::BadValue { key: key.to_owned(), expected }
}

fn whole(value: &Value) -> Option<i64> {
    match *value {
        Value::U8(n) => Some(n.into()),
        Value::I8(n) => Some(n.into()),
        Value::U16(n) => Some(n.into()),
        Value::I16(n) => Some(n.into()),
        Value::U32(n) => Some(n.into()),
        Value::I32(n) => Some(n.into()),
        Value::U64(n) => n.try_into().ok(),
        Value::I64(n) => Some(n),
        _ => None,
    }
}

/// Tells a truncated file by the tensor that reaches farthest past its end.
fn check_extents(content: &Content, len: u64) -> Result<(), WeightsError> {
    let ends = content.tensor_infos.iter().map(|(name, info)| (end(content, info), name));
    match ends.max() {
        Some((end, name)) if end > len => Err(WeightsError::Truncated { tensor: name.clone(), end, len }),
        _ => Ok(()),
    }
}

/// Where a tensor's data ends in the file; `u64::MAX` for a shape that no file can hold.
fn end(content: &Content, info: &TensorInfo) -> u64 {
    let elements = info.shape.dims().iter().try_fold(1u64, |n, &dim| n.checked_mul(dim as u64));
    let (block, bytes) = (info.ggml_dtype.block_size() as u64, info.ggml_dtype.type_size() as u64);
    let size = elements.and_then(|n| n.div_ceil(block).checked_mul(bytes));
    size.and_then(|n| n.checked_add(info.offset)?.checked_add(content.tensor_data_offset)).unwrap_or(u64::MAX)
}

/// Passes reads through, but refuses an alignment of zero, on which candle's reader divides by zero. Candle reads key,
/// value type and value in one call each.
struct Guarded<R> {
    inner: R,
    seen: Seen,
}

enum Seen {
    Other,
    Key,
    Type,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let bytes = &buffer[..n];
        self.seen = match self.seen {
            _ if bytes == ALIGNMENT_KEY => Seen::Key,
            Seen::Key => Seen::Type,
            Seen::Type if bytes.iter().all(|&b| b == 0) => {
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "alignment of zero"));
            }
            Seen::Type | Seen::Other => Seen::Other,
        };
        Ok(n)
    }
}

impl<R: Seek> Seek for Guarded<R> {
    fn seek(&mut self, position: SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(position)
    }

    // The default goes through `seek`, which throws the buffer away; candle asks once per string.
    fn stream_position(&mut self) -> std::io::Result<u64> {
        self.inner.stream_position()
    }
}
