//! The key-value pool, shaped like the search tree.
//!
//! The prompt's keys and values are kept once; every position of a hole owns one *slot*, and what a position sees is
//! the prompt plus the slots of its path. Rows of any depth and length advance in one pass: each new token is a query
//! of its own with a list of slots, so forking costs nothing, going back costs nothing, and nothing is ever copied but
//! the gathered slots of one layer at a time.
//!
//! Slots are bounded, positions are not: a position's token and parent stay for ever, its keys and values may be
//! evicted (least recently used leaves first) and are computed again, in the pass that needs them, when it is used
//! once more. Callers never see the difference.
//!
//! Deliberately absent: token texts, probabilities, and any idea of which positions are worth keeping.

mod slots;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashSet;

use super::error::ModelError;
use super::network::{KeyValues, Kv, Network, Place, Shape, Visible};
use super::{KvNode, Position, Row};
use crate::token::TokenId;
use candle_core::{Result as Computed, Tensor};
use slots::Slots;
use tree::Tree;

/// Tokens of a prompt in one pass: enough for gemm, while the scores still fit the cache.
const PROMPT_CHUNK: usize = 256;

/// Most new tokens in one pass: bounds the gathered keys and values (a longer list of rows takes several passes).
const PASS_TOKENS: usize = 256;

/// Slots of the first allocation.
const FIRST_SLOTS: usize = 64;

/// Keys and values of one prompt and of all positions below it.
pub(super) struct KvPool {
    prompt: Vec<Kv>,
    prompt_len: usize,
    tree: Tree,
    slots: Slots,
    /// Most slots, unless a single row needs more.
    cap: usize,
}

impl KvPool {
    /// An empty pool of at most `kv_bytes` for the positions below the prompt.
    pub(super) fn new(network: &dyn Network, kv_bytes: usize) -> Self {
        let slots = Slots::new(network.shape(), network.place());
        let cap = (kv_bytes / slots.bytes_per_slot()).max(1);
        Self { prompt: Vec::new(), prompt_len: 0, tree: Tree::new(), slots, cap }
    }

    /// Forgets everything, computes `prompt` and returns the logits of what follows it.
    pub(super) fn prime(
        &mut self,
        network: &mut dyn Network,
        prompt: &[TokenId],
    ) -> Result<Vec<f32>, ModelError> {
        self.prompt_len = 0;
        check_tokens(network, prompt, "prompt")?;
        check_window(network, prompt.len())?;
        self.tree = Tree::new();
        self.slots = Slots::new(network.shape(), network.place());
        let start = network.begin(prompt).map_err(failed("encoder"))?;
        let (prompt_kv, logits) = prefill(network, &start).map_err(failed("prompt"))?;
        check_finite(&logits, start.len() - 1)?;
        self.prompt = prompt_kv;
        self.prompt_len = start.len();
        Ok(logits)
    }

    /// Appends rows; see [`Model::extend`](super::Model::extend). After an error a prompt must be primed again, unless
    /// the rows themselves were at fault.
    pub(super) fn extend(
        &mut self,
        network: &dyn Network,
        rows: &[Row],
    ) -> Result<Vec<Vec<Position>>, ModelError> {
        self.check_rows(network, rows)?;
        let mut done = Vec::with_capacity(rows.len());
        while done.len() < rows.len() {
            let first = done.len();
            let taken = self.rows_of_pass(&rows[first..]);
            let pass = self.pass(network, &rows[first..first + taken]);
            // A pass that broke off leaves slots without their keys and values.
            done.extend(pass.inspect_err(|_| self.prompt_len = 0)?);
        }
        Ok(done)
    }

    fn check_rows(&self, network: &dyn Network, rows: &[Row]) -> Result<(), ModelError> {
        if self.prompt_len == 0 {
            return Err(ModelError::NotPrimed);
        }
        for row in rows {
            check_tokens(network, &row.tokens, "row")?;
            if !self.tree.contains(row.parent) {
                return Err(ModelError::UnknownNode { node: row.parent.0 });
            }
            check_window(network, self.prompt_len + self.tree.path(row.parent).len() + row.tokens.len())?;
        }
        Ok(())
    }

    /// How many of the first rows go into one pass: at least one, as many as the cap and [`PASS_TOKENS`] allow.
    fn rows_of_pass(&self, rows: &[Row]) -> usize {
        let mut pinned = HashSet::new();
        let (mut computed, mut new) = (0, 0);
        let fits = |row: &Row| {
            new += row.tokens.len();
            computed += row.tokens.len();
            let path = self.tree.path(row.parent).into_iter();
            computed += path.filter(|&node| pinned.insert(node) && !self.tree.is_resident(node)).count();
            pinned.len() + new <= self.cap && computed <= PASS_TOKENS
        };
        rows.iter().map(fits).take_while(|&fits| fits).count().max(1)
    }

    fn pass(&mut self, network: &dyn Network, rows: &[Row]) -> Result<Vec<Vec<Position>>, ModelError> {
        let nodes: Vec<Vec<KvNode>> = rows.iter().map(|row| self.tree.append(row)).collect();
        let last = nodes.iter().filter_map(|row| row.last());
        let absent = self.tree.touch(last.copied());
        self.make_room(absent.len()).map_err(failed("key-value pool"))?;
        self.tree.settle(&absent);

        let first_new = nodes[0][0];
        let restored = absent.iter().filter(|&&node| node < first_new).count();
        let new: Vec<u32> = (restored as u32..absent.len() as u32).collect();
        let logits = self.compute(network, &absent, &new).map_err(failed("step"))?;
        self.positions(nodes, logits)
    }

    /// Makes sure that `needed` slots are free: by growing up to the cap, by evicting, by growing past it.
    fn make_room(&mut self, needed: usize) -> Computed<()> {
        let capacity = self.slots.capacity();
        if self.tree.free() < needed && capacity < self.cap {
            let least = capacity + needed - self.tree.free();
            self.grow((2 * capacity).max(FIRST_SLOTS).max(least).min(self.cap))?;
        }
        if self.tree.free() < needed {
            // An eighth at once, so that a full pool does not look for victims at every step.
            self.tree.evict(needed.max(self.slots.capacity() / 8));
        }
        if self.tree.free() < needed {
            self.grow(self.slots.capacity() + needed - self.tree.free())?;
        }
        Ok(())
    }

    fn grow(&mut self, capacity: usize) -> Computed<()> {
        let added = capacity - self.slots.capacity();
        self.slots.grow(capacity)?;
        self.tree.add_slots(added);
        Ok(())
    }

    /// Computes the keys and values of `nodes` (parents first) and the logits of those at the indices `wanted`.
    fn compute(
        &mut self,
        network: &dyn Network,
        nodes: &[KvNode],
        wanted: &[u32],
    ) -> Computed<Vec<Vec<f32>>> {
        let paths: Vec<Vec<KvNode>> = nodes.iter().map(|&node| self.tree.path(node)).collect();
        let positions: Vec<u32> =
            paths.iter().map(|path| (self.prompt_len + path.len() - 1) as u32).collect();
        let tokens: Vec<TokenId> = nodes.iter().map(|&node| self.tree.token(node)).collect();
        let slots: Vec<Vec<u32>> =
            paths.iter().map(|path| path.iter().map(|&node| self.tree.slot(node)).collect()).collect();
        let mut step = Step::new(&self.prompt, &self.slots, &slots, network)?;
        let hidden = network.forward(&tokens, &positions, &mut step)?;
        network.logits(&hidden, wanted)
    }

    fn positions(
        &self,
        nodes: Vec<Vec<KvNode>>,
        logits: Vec<Vec<f32>>,
    ) -> Result<Vec<Vec<Position>>, ModelError> {
        let mut logits = logits.into_iter();
        let mut position = |node: KvNode| {
            let logits = logits.next().expect("one row of logits per new node");
            check_finite(&logits, self.prompt_len + self.tree.path(node).len() - 1)?;
            Ok(Position { node, logits })
        };
        nodes.into_iter().map(|row| row.into_iter().map(&mut position).collect()).collect()
    }
}

/// Runs the prompt through in chunks; its keys and values by layer, and the last token's logits.
fn prefill(network: &dyn Network, prompt: &[TokenId]) -> Computed<(Vec<Kv>, Vec<f32>)> {
    let mut prompt_kv = Vec::new();
    let mut logits = Vec::new();
    for (i, chunk) in prompt.chunks(PROMPT_CHUNK).enumerate() {
        let start = i * PROMPT_CHUNK;
        let positions: Vec<u32> = (start as u32..(start + chunk.len()) as u32).collect();
        let mask = causal_mask(chunk.len(), network.shape(), network.place())?;
        let hidden = network.forward(chunk, &positions, &mut Prefill { prompt: &mut prompt_kv, mask })?;
        if start + chunk.len() == prompt.len() {
            logits = network.logits(&hidden, &[chunk.len() as u32 - 1])?.remove(0);
        }
    }
    Ok((prompt_kv, logits))
}

/// `[kv heads, tokens * queries per kv head, tokens]`.
fn causal_mask(tokens: usize, shape: &Shape, place: &Place) -> Computed<Tensor> {
    let group = shape.heads / shape.kv_heads;
    let row = |i: usize| (0..tokens).map(move |j| if j > i { f32::NEG_INFINITY } else { 0.0 });
    let rows =
        (0..shape.kv_heads * tokens).flat_map(|i| std::iter::repeat_n(i % tokens, group)).flat_map(row);
    place.tensor(rows.collect(), (shape.kv_heads, tokens * group, tokens))
}

/// One chunk of a prompt: it sees the chunks before it whole and itself causally.
struct Prefill<'a> {
    prompt: &'a mut Vec<Kv>,
    mask: Tensor,
}

impl KeyValues for Prefill<'_> {
    fn exchange(&mut self, layer: usize, new: Kv) -> Computed<Visible> {
        let shared = self.prompt.get(layer).cloned();
        match &shared {
            None => self.prompt.push(new.clone()),
            Some(before) => {
                let k = Tensor::cat(&[&before.k, &new.k], 1)?;
                let v = Tensor::cat(&[&before.v, &new.v], 1)?;
                self.prompt[layer] = Kv { k, v };
            }
        }
        Ok(Visible { shared, own: new, mask: Some(self.mask.clone()) })
    }
}

/// One step below the prompt: each token sees the prompt and the slots of its own path.
struct Step<'a> {
    prompt: &'a [Kv],
    slots: &'a Slots,
    /// Where each token's keys and values go.
    targets: Vec<u32>,
    /// Slots of all paths, each padded to the longest, one after the other.
    gathered: Tensor,
    /// Minus infinity on the padding.
    mask: Tensor,
}

impl<'a> Step<'a> {
    fn new(prompt: &'a [Kv], slots: &'a Slots, paths: &[Vec<u32>], network: &dyn Network) -> Computed<Self> {
        let (shape, place) = (network.shape(), network.place());
        let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
        let own = |path: &Vec<u32>| *path.last().expect("a path holds its own node");
        let padded = |path: &'_ Vec<u32>| {
            let padding = std::iter::repeat_n(own(path), longest - path.len());
            path.iter().copied().chain(padding).collect::<Vec<_>>()
        };
        let group = shape.heads / shape.kv_heads;
        let masked = |path: &Vec<u32>| {
            let mut row = vec![0.0; longest];
            row[path.len()..].fill(f32::NEG_INFINITY);
            row.repeat(group)
        };
        let mask: Vec<f32> = paths.iter().flat_map(masked).collect();
        let mask_shape = (shape.kv_heads * paths.len(), group, longest);
        Ok(Self {
            prompt,
            slots,
            targets: paths.iter().map(own).collect(),
            gathered: place.indices(&paths.iter().flat_map(padded).collect::<Vec<_>>())?,
            mask: place.tensor(mask.repeat(shape.kv_heads), mask_shape)?,
        })
    }
}

impl KeyValues for Step<'_> {
    fn exchange(&mut self, layer: usize, new: Kv) -> Computed<Visible> {
        self.slots.write(layer, &self.targets, &new)?;
        let own = self.slots.gather(layer, &self.gathered, self.targets.len())?;
        let shared = Some(self.prompt[layer].clone());
        Ok(Visible { shared, own, mask: Some(self.mask.clone()) })
    }
}

fn failed(operation: &'static str) -> impl Fn(candle_core::Error) -> ModelError {
    move |source| ModelError::Compute { operation, source }
}

fn check_tokens(network: &dyn Network, tokens: &[TokenId], part: &'static str) -> Result<(), ModelError> {
    let len = network.shape().vocabulary;
    match tokens.iter().find(|&&token| token as usize >= len) {
        Some(&token) => Err(ModelError::UnknownToken { token, len }),
        None if tokens.is_empty() => Err(ModelError::Empty { part }),
        None => Ok(()),
    }
}

fn check_window(network: &dyn Network, len: usize) -> Result<(), ModelError> {
    let window = network.shape().window;
    if len > window { Err(ModelError::WindowFull { len, window }) } else { Ok(()) }
}

fn check_finite(logits: &[f32], position: usize) -> Result<(), ModelError> {
    if logits.iter().all(|x| x.is_finite()) { Ok(()) } else { Err(ModelError::NotFinite { position }) }
}
