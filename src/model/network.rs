//! The seam between a network and the key-value pool, and what all networks are made of.
//!
//! A network takes a flat list of tokens, each with its own position; several texts of different lengths go through at
//! once. What a token sees is the business of [`KeyValues`], so no network has a cache, a batch dimension or padding. An
//! encoder-decoder network reads the prompt in [`Network::begin`]; what it appends to afterwards are the decoder's tokens.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops;

use super::kernels::product;
use crate::token::TokenId;

/// Sizes that the pool has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_width: usize,
    pub(super) vocabulary: usize,
    /// Longest sequence in tokens: prompt and hole together, or each of them where an encoder reads the prompt.
    pub(super) window: usize,
}

/// Where a network computes, and in which numbers.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) device: Device,
    pub(super) dtype: DType,
}

impl Place {
    /// The processor, in f32.
    pub(super) fn cpu() -> Self {
        Self { device: Device::Cpu, dtype: DType::F32 }
    }

    /// A list of indices as a tensor.
    pub(super) fn indices(&self, ids: &[u32]) -> Result<Tensor> {
        Tensor::new(ids, &self.device)
    }

    /// Numbers computed here, as a tensor over there.
    pub(super) fn tensor(
        &self,
        values: Vec<f32>,
        shape: impl candle_core::shape::ShapeWithOneHole,
    ) -> Result<Tensor> {
        Tensor::from_vec(values, shape, &self.device)?.to_dtype(self.dtype)
    }
}

/// A network that predicts tokens.
pub(super) trait Network: Send + Sync {
    fn shape(&self) -> &Shape;

    fn place(&self) -> &Place;

    /// Takes a new prompt, and says which tokens the decoder begins with: the prompt itself, unless an encoder reads it.
    fn begin(&mut self, prompt: &[TokenId]) -> Result<Vec<TokenId>> {
        Ok(prompt.to_vec())
    }

    /// Runs `tokens` at their `positions` through all layers; the result `[tokens, width]` is not yet normalised.
    fn forward(&self, tokens: &[TokenId], positions: &[u32], kv: &mut dyn KeyValues) -> Result<Tensor>;

    /// Logits of some rows of what `forward` returned, one vector of `vocabulary` each.
    fn logits(&self, hidden: &Tensor, rows: &[u32]) -> Result<Vec<Vec<f32>>>;
}

/// Keys and values of one layer, each `[kv heads, tokens, head width]`.
#[derive(Debug, Clone)]
pub(super) struct Kv {
    pub(super) k: Tensor,
    pub(super) v: Tensor,
}

/// What the tokens of a pass see in one layer. The keys stand at the positions 0, 1, 2, ... : first the shared ones, then
/// those of the group.
pub(super) struct Visible {
    /// Seen by all tokens, all of it; `[kv heads, shared, head width]`.
    pub(super) shared: Option<Kv>,
    /// Seen by one group of tokens each: `[kv heads * groups, longest, head width]`. The groups are equal parts of the
    /// list of tokens, in order.
    pub(super) own: Kv,
    /// Added to the scores of `own`: 0 or minus infinity, `[kv heads * groups, tokens of a group * query heads per
    /// kv head, longest]`.
    pub(super) mask: Option<Tensor>,
}

impl Visible {
    /// Number of keys that are seen by all tokens.
    pub(super) fn n_shared(&self) -> Result<usize> {
        self.shared.as_ref().map_or(Ok(0), |shared| shared.k.dim(1))
    }

    /// Number of keys of each group, padding included.
    pub(super) fn n_own(&self) -> Result<usize> {
        self.own.k.dim(1)
    }
}

/// The memory of a pass: takes each layer's new keys and values and says what is visible then.
pub(super) trait KeyValues {
    fn exchange(&mut self, layer: usize, new: Kv) -> Result<Visible>;
}

/// A linear map; the weight is `[out, in]` as in the file.
pub(super) struct Linear {
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

impl Linear {
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = product(x, &self.weight)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// Attention of `q` `[kv heads, tokens * queries, head width]` (scaled already) over both visible parts, one softmax
/// over them together. The queries of all tokens are folded into one product with the shared part, which is read once.
/// `bias` `[kv heads, tokens * queries, shared + longest]` is added to the scores.
pub(super) fn attention(q: &Tensor, visible: &Visible, bias: Option<&Tensor>) -> Result<Tensor> {
    let (heads, queries, width) = q.dims3()?;
    let (batches, longest, _) = visible.own.k.dims3()?;
    let by_group = (batches, heads * queries / batches, width);
    let own = q.reshape(by_group)?.matmul(&visible.own.k.t()?)?;
    let own = match &visible.mask {
        Some(mask) => (own + mask)?,
        None => own,
    };
    let own = own.reshape((heads, queries, longest))?;
    let scores = match &visible.shared {
        Some(shared) => Tensor::cat(&[&q.matmul(&shared.k.t()?)?, &own], D::Minus1)?,
        None => own,
    };
    let scores = match bias {
        Some(bias) => (scores + bias)?,
        None => scores,
    };
    let weights = ops::softmax_last_dim(&scores)?;
    let common = visible.n_shared()?;
    let own = weights.reshape((batches, by_group.1, common + longest))?.narrow(2, common, longest)?;
    let seen = own.matmul(&visible.own.v)?.reshape(q.shape())?;
    match &visible.shared {
        Some(shared) => weights.narrow(2, 0, common)?.matmul(&shared.v)? + seen,
        None => Ok(seen),
    }
}
