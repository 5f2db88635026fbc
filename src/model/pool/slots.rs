//! The storage of the pool: for each layer one tensor of keys and one of values, `[kv heads, slots, head width]`.

use super::super::llama::{Config, Kv};
use candle_core::{DType, Device, Result, Tensor};

pub(super) struct Slots {
    layers: Vec<Kv>,
    capacity: usize,
    n_layers: usize,
    kv_heads: usize,
    head_width: usize,
}

impl Slots {
    pub(super) fn new(c: &Config) -> Self {
        let (n_layers, kv_heads, head_width) = (c.layers, c.kv_heads, c.head_width);
        Self { layers: Vec::new(), capacity: 0, n_layers, kv_heads, head_width }
    }

    pub(super) fn bytes_per_slot(c: &Config) -> usize {
        2 * c.layers * c.kv_heads * c.head_width * DType::F32.size_in_bytes()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Grows to `capacity`, layer by layer, so that only one layer is there twice at a time.
    pub(super) fn grow(&mut self, capacity: usize) -> Result<()> {
        let shape = (self.kv_heads, capacity, self.head_width);
        // Zeroed: a masked score still multiplies what lies in the slot.
        let empty = || Tensor::zeros(shape, DType::F32, &Device::Cpu);
        for layer in 0..self.n_layers {
            let grown = Kv { k: empty()?, v: empty()? };
            if let Some(old) = self.layers.get_mut(layer) {
                grown.k.slice_set(&old.k, 1, 0)?;
                grown.v.slice_set(&old.v, 1, 0)?;
                *old = grown;
            } else {
                self.layers.push(grown);
            }
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Writes `new` `[kv heads, targets, head width]` into the slots `targets`, run by run.
    pub(super) fn write(&self, layer: usize, targets: &[u32], new: &Kv) -> Result<()> {
        let mut start = 0;
        for run in targets.chunk_by(|a, b| a + 1 == *b) {
            let part = |t: &Tensor| t.narrow(1, start, run.len())?.contiguous();
            self.layers[layer].k.slice_set(&part(&new.k)?, 1, run[0] as usize)?;
            self.layers[layer].v.slice_set(&part(&new.v)?, 1, run[0] as usize)?;
            start += run.len();
        }
        Ok(())
    }

    /// Copies the slots `ids` of equally long `paths` out: `[kv heads * paths, longest, head width]`.
    pub(super) fn gather(&self, layer: usize, ids: &Tensor, paths: usize) -> Result<Kv> {
        let shape = (self.kv_heads * paths, ids.elem_count() / paths, self.head_width);
        let pick = |t: &Tensor| t.index_select(ids, 1)?.reshape(shape);
        Ok(Kv { k: pick(&self.layers[layer].k)?, v: pick(&self.layers[layer].v)? })
    }
}
