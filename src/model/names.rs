//! What the decoder's tensors, which go by GGUF's names, are called in checkpoints of the hub.

use std::ops::Range;

use candle_core::Tensor;

use super::decoder::Config;
use super::error::WeightsError;
use super::hub_config::Architecture;
use super::weights::{Checkpoint, Weights, check_shape};

/// A checkpoint whose tensors answer to GGUF's names.
pub(super) struct Renamed<'a> {
    pub(super) checkpoint: &'a mut Checkpoint,
    pub(super) architecture: Architecture,
    pub(super) config: &'a Config,
    /// The output head is the embedding, whatever else the file holds.
    pub(super) tied: bool,
}

impl Renamed<'_> {
    fn name(&self, name: &str) -> String {
        let (stem, kind) = name.rsplit_once('.').unwrap_or((name, ""));
        let own = match stem.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
            Some((layer, part)) => {
                let (layers, part) = of_layer(self.architecture, part);
                format!("{layers}.{layer}.{part}")
            }
            None => of_model(self.architecture, stem).to_owned(),
        };
        format!("{own}.{kind}")
    }

    /// GPT-BigCode holds query, key and value in one tensor: the rows of one of them.
    fn rows_of_joined(&self, name: &str) -> Option<Vec<Range<usize>>> {
        let part = ["attn_q", "attn_k", "attn_v"].iter().position(|part| name.contains(part))?;
        let shape = &self.config.shape;
        let w = shape.head_width;
        if self.architecture != Architecture::GptBigcode {
            return None;
        }
        if shape.kv_heads == 1 {
            let q = shape.heads * w;
            return Some(vec![[0..q, q..q + w, q + w..q + 2 * w][part].clone()]);
        }
        Some((0..shape.heads).map(|head| (3 * head + part) * w..(3 * head + part + 1) * w).collect())
    }
}

impl Weights for Renamed<'_> {
    fn has(&self, name: &str) -> bool {
        // An untied head must be there: that it is not is told when it is read.
        if name == "output.weight" { !self.tied } else { self.checkpoint.has(&self.name(name)) }
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let own = self.name(name);
        let failed = |source| WeightsError::Tensor { name: own.clone(), source };
        if let Some(rows) = self.rows_of_joined(name) {
            let whole = [
                &[(self.config.shape.heads + 2 * self.config.shape.kv_heads) * self.config.shape.head_width],
                &shape[1..],
            ];
            let joined = self.checkpoint.tensor(&own, &whole.concat())?;
            let parts = rows.into_iter().map(|rows| joined.narrow(0, rows.start, rows.len()));
            let parts = parts.collect::<candle_core::Result<Vec<_>>>().map_err(failed)?;
            let part = Tensor::cat(&parts, 0).map_err(failed)?;
            check_shape(&own, part.dims(), shape)?;
            return Ok(part);
        }
        let tensor = self.checkpoint.tensor(&own, shape)?;
        // Gemma's norms are distances from one.
        let is_offset = self.architecture == Architecture::Gemma && name.contains("norm");
        if is_offset { (tensor + 1.0).map_err(failed) } else { Ok(tensor) }
    }
}

/// The list of layers, and a part's name in each.
fn of_layer(architecture: Architecture, part: &str) -> (&'static str, &str) {
    let layers = if architecture == Architecture::GptBigcode { "transformer.h" } else { "model.layers" };
    let own = match (architecture, part) {
        (Architecture::GptBigcode, "attn_q" | "attn_k" | "attn_v") => "attn.c_attn",
        (Architecture::GptBigcode, "attn_output") => "attn.c_proj",
        (Architecture::GptBigcode, "attn_norm") => "ln_1",
        (Architecture::GptBigcode, "ffn_norm") => "ln_2",
        (Architecture::GptBigcode | Architecture::Starcoder2, "ffn_up") => "mlp.c_fc",
        (Architecture::GptBigcode | Architecture::Starcoder2, "ffn_down") => "mlp.c_proj",
        (_, "attn_q") => "self_attn.q_proj",
        (_, "attn_k") => "self_attn.k_proj",
        (_, "attn_v") => "self_attn.v_proj",
        (Architecture::Xglm, "attn_output") => "self_attn.out_proj",
        (Architecture::Xglm, "attn_norm") => "self_attn_layer_norm",
        (Architecture::Xglm, "ffn_norm") => "final_layer_norm",
        (Architecture::Xglm, "ffn_up") => "fc1",
        (Architecture::Xglm, "ffn_down") => "fc2",
        (_, "attn_output") => "self_attn.o_proj",
        (_, "attn_norm") => "input_layernorm",
        (_, "ffn_norm") => "post_attention_layernorm",
        (_, "ffn_gate") => "mlp.gate_proj",
        (_, "ffn_up") => "mlp.up_proj",
        (_, "ffn_down") => "mlp.down_proj",
        (_, other) => other,
    };
    (layers, own)
}

fn of_model(architecture: Architecture, part: &str) -> &str {
    match (architecture, part) {
        (_, "output") => "lm_head",
        (Architecture::GptBigcode, "token_embd") => "transformer.wte",
        (Architecture::GptBigcode, "position_embd") => "transformer.wpe",
        (Architecture::GptBigcode, "output_norm") => "transformer.ln_f",
        (_, "token_embd") => "model.embed_tokens",
        (Architecture::Xglm, "output_norm") => "model.layer_norm",
        (_, "output_norm") => "model.norm",
        (_, other) => other,
    }
}
