//! The storage of the pool: for each layer one tensor of keys and one of values, `[kv heads, slots, head width]`.

use super::super::network::{Kv, Place, Shape};
use candle_core::{Result, Tensor};

pub(super) struct Slots {
    layers: Vec<Kv>,
    capacity: usize,
    shape: Shape,
    place: Place,
}

impl Slots {
    pub(super) fn new(shape: &Shape, place: &Place) -> Self {
        Self { layers: Vec::new(), capacity: 0, shape: *shape, place: place.clone() }
    }

    pub(super) fn bytes_per_slot(&self) -> usize {
        let Shape { layers, kv_heads, head_width, .. } = self.shape;
        2 * layers * kv_heads * head_width * self.place.dtype.size_in_bytes()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Grows to `capacity`, layer by layer, so that only one layer is there twice at a time.
    pub(super) fn grow(&mut self, capacity: usize) -> Result<()> {
        let shape = (self.shape.kv_heads, capacity, self.shape.head_width);
        // Zeroed: a masked score still multiplies what lies in the slot.
        let empty = || Tensor::zeros(shape, self.place.dtype, &self.place.device);
        for layer in 0..self.shape.layers {
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
        let shape = (self.shape.kv_heads * paths, ids.elem_count() / paths, self.shape.head_width);
        let pick = |t: &Tensor| t.index_select(ids, 1)?.reshape(shape);
        Ok(Kv { k: pick(&self.layers[layer].k)?, v: pick(&self.layers[layer].v)? })
    }
}
