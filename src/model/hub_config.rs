//! `config.json` of a checkpoint: which architecture it is, and its sizes.
//!
//! Transformers 5 writes some settings elsewhere than its predecessors did (`rope_parameters`, `scale_decoder_outputs`);
//! both are read.

use std::path::Path;

use serde_json::Value;

use super::decoder::{self, Activation, NormKind};
use super::error::WeightsError;
use super::network::Shape;
use super::position::{Positions, Rotary};
use super::t5::{self, Buckets};
use crate::token::TokenId;

/// Decoder-only architectures, by `model_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    /// Llama and Mistral: `CodeLlama`, `DeepSeek-Coder`, Granite-code, Mellum, Codestral.
    Llama,
    Qwen2,
    Starcoder2,
    /// `StarCoder` and `SantaCoder`.
    GptBigcode,
    Gemma,
    /// `InCoder`.
    Xglm,
}

/// An architecture with its sizes.
pub(super) enum Network {
    T5(t5::Config),
    Decoder { architecture: Architecture, config: decoder::Config, tied: bool },
}

/// The settings of a checkpoint.
pub(super) struct HubConfig {
    values: Value,
}

impl HubConfig {
    pub(super) fn read(path: &Path) -> Result<Self, WeightsError> {
        let text = std::fs::read_to_string(path)?;
        let values: Value = serde_json::from_str(&text)
            .map_err(|source| WeightsError::Json { path: path.to_owned(), source })?;
        Ok(Self { values })
    }

    /// What the configuration calls the architecture.
    pub(super) fn model_type(&self) -> Result<&str, WeightsError> {
        self.values["model_type"].as_str().ok_or_else(|| WeightsError::MissingKey("model_type".to_owned()))
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.values["_name_or_path"].as_str().filter(|name| !name.is_empty())
    }

    /// Whether a llama has biases in its attention: Granite-code's, and no other's among those that infill.
    pub(super) fn has_attention_bias(&self) -> bool {
        self.flag("attention_bias", false)
    }

    /// The architecture with its sizes.
    pub(super) fn network(&self) -> Result<Network, WeightsError> {
        let found = self.model_type()?;
        let architecture = match found {
            "t5" => return self.t5().map(Network::T5),
            "llama" | "mistral" => Architecture::Llama,
            "qwen2" => Architecture::Qwen2,
            "starcoder2" => Architecture::Starcoder2,
            "gpt_bigcode" => Architecture::GptBigcode,
            "gemma" => Architecture::Gemma,
            "xglm" => Architecture::Xglm,
            found => return Err(WeightsError::Architecture { found: found.to_owned() }),
        };
        let config = match architecture {
            Architecture::GptBigcode => self.bigcode()?,
            Architecture::Xglm => self.xglm()?,
            _ => self.rotary(architecture)?,
        };
        check(&config.shape)?;
        let tied_by_default = !matches!(architecture, Architecture::Llama | Architecture::Qwen2);
        let tied = self.flag("tie_word_embeddings", tied_by_default);
        Ok(Network::Decoder { architecture, config, tied })
    }

    /// Architectures with rotated heads.
    fn rotary(&self, architecture: Architecture) -> Result<decoder::Config, WeightsError> {
        let (width, heads) = (self.count("hidden_size")?, self.count("num_attention_heads")?);
        let starcoder2 = architecture == Architecture::Starcoder2;
        let gemma = architecture == Architecture::Gemma;
        let epsilon = if starcoder2 { "norm_epsilon" } else { "rms_norm_eps" };
        let shape = Shape {
            layers: self.count("num_hidden_layers")?,
            heads,
            kv_heads: self.optional_count("num_key_value_heads")?.unwrap_or(heads),
            head_width: self.optional_count("head_dim")?.unwrap_or(width / heads),
            vocabulary: self.count("vocab_size")?,
            window: self.window()?,
        };
        Ok(decoder::Config {
            shape,
            width,
            feed_forward: self.count("intermediate_size")?,
            norm: if starcoder2 { NormKind::Layer } else { NormKind::Rms },
            norm_epsilon: self.number(epsilon, None)? as f32,
            positions: self.rotation()?,
            // Gemma's first configurations say `gelu` and mean its approximation.
            activation: if gemma { Activation::GeluTanh } else { self.activation("hidden_act")? },
            gated: !starcoder2,
            embedding_scale: if gemma { (width as f64).sqrt() } else { 1.0 },
        })
    }

    fn bigcode(&self) -> Result<decoder::Config, WeightsError> {
        let (width, heads) = (self.count("n_embd")?, self.count("n_head")?);
        let shape = Shape {
            layers: self.count("n_layer")?,
            heads,
            kv_heads: if self.flag("multi_query", true) { 1 } else { heads },
            head_width: width / heads,
            vocabulary: self.count("vocab_size")?,
            window: self.count("n_positions")?,
        };
        Ok(decoder::Config {
            shape,
            width,
            feed_forward: self.optional_count("n_inner")?.unwrap_or(4 * width),
            norm: NormKind::Layer,
            norm_epsilon: self.number("layer_norm_epsilon", Some(1e-5))? as f32,
            positions: Positions::Learned,
            activation: self.activation("activation_function")?,
            gated: false,
            embedding_scale: 1.0,
        })
    }

    fn xglm(&self) -> Result<decoder::Config, WeightsError> {
        let (width, heads) = (self.count("d_model")?, self.count("attention_heads")?);
        let shape = Shape {
            layers: self.count("num_layers")?,
            heads,
            kv_heads: heads,
            head_width: width / heads,
            vocabulary: self.count("vocab_size")?,
            window: self.count("max_position_embeddings")?,
        };
        Ok(decoder::Config {
            shape,
            width,
            feed_forward: self.count("ffn_dim")?,
            norm: NormKind::Layer,
            norm_epsilon: 1e-5,
            positions: Positions::Sinusoidal { offset: 2 },
            activation: self.activation("activation_function")?,
            gated: false,
            embedding_scale: if self.flag("scale_embedding", true) { (width as f64).sqrt() } else { 1.0 },
        })
    }

    fn t5(&self) -> Result<t5::Config, WeightsError> {
        let (width, heads) = (self.count("d_model")?, self.count("num_heads")?);
        let encoder_layers = self.count("num_layers")?;
        let shape = Shape {
            layers: self.optional_count("num_decoder_layers")?.unwrap_or(encoder_layers),
            heads,
            kv_heads: heads,
            head_width: self.count("d_kv")?,
            vocabulary: self.count("vocab_size")?,
            window: self.optional_count("n_positions")?.unwrap_or(512),
        };
        let tied = self.flag("tie_word_embeddings", true);
        Ok(t5::Config {
            shape,
            encoder_layers,
            width,
            feed_forward: self.count("d_ff")?,
            buckets: Buckets {
                number: self.optional_count("relative_attention_num_buckets")?.unwrap_or(32),
                max_distance: self.optional_count("relative_attention_max_distance")?.unwrap_or(128),
            },
            norm_epsilon: self.number("layer_norm_epsilon", Some(1e-6))? as f32,
            gated: self.gated()?,
            tied,
            scaled_output: self.flag("scale_decoder_outputs", tied),
            decoder_start: vec![
                self.token("decoder_start_token_id").or_else(|| self.token("pad_token_id")).unwrap_or(0),
            ],
        })
    }

    fn gated(&self) -> Result<bool, WeightsError> {
        match self.values["feed_forward_proj"].as_str() {
            None | Some("relu") => Ok(false),
            Some("gated-gelu") => Ok(true),
            Some(_) => Err(bad("feed_forward_proj", "`relu` or `gated-gelu`")),
        }
    }

    /// The longest sequence; where a family attends to a sliding window only, no longer than that, so that the two agree.
    fn window(&self) -> Result<usize, WeightsError> {
        let longest = self.count("max_position_embeddings")?;
        let slides = self.flag("use_sliding_window", true);
        let sliding = self.optional_count("sliding_window")?.filter(|_| slides);
        Ok(sliding.map_or(longest, |sliding| longest.min(sliding)))
    }

    fn rotation(&self) -> Result<Positions, WeightsError> {
        let new = &self.values["rope_parameters"];
        let old = &self.values["rope_scaling"];
        let own = if new.is_object() { new } else { old };
        let kind = own["rope_type"].as_str().or_else(|| own["type"].as_str()).unwrap_or("default");
        let scale = match (kind, own["factor"].as_f64()) {
            ("default", _) => 1.0,
            ("linear", Some(factor)) if factor > 0.0 => factor,
            _ => return Err(bad("rope_scaling", "absent or linear")),
        };
        let base =
            new["rope_theta"].as_f64().or_else(|| self.values["rope_theta"].as_f64()).unwrap_or(10_000.0);
        Ok(Positions::Rotary { style: Rotary::Halves, base: base as f32, scale: scale as f32 })
    }

    fn activation(&self, key: &str) -> Result<Activation, WeightsError> {
        match self.values[key].as_str() {
            Some("silu") => Ok(Activation::Silu),
            Some("gelu") => Ok(Activation::Gelu),
            Some("gelu_pytorch_tanh" | "gelu_new") => Ok(Activation::GeluTanh),
            Some("relu") => Ok(Activation::Relu),
            Some(_) => Err(bad(key, "`silu`, `gelu`, `gelu_pytorch_tanh` or `relu`")),
            None => Err(WeightsError::MissingKey(key.to_owned())),
        }
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.values[key].as_bool().unwrap_or(default)
    }

    fn token(&self, key: &str) -> Option<TokenId> {
        self.values[key].as_u64().map(|id| id as TokenId)
    }

    fn count(&self, key: &str) -> Result<usize, WeightsError> {
        self.optional_count(key)?.ok_or_else(|| WeightsError::MissingKey(key.to_owned()))
    }

    fn optional_count(&self, key: &str) -> Result<Option<usize>, WeightsError> {
        match &self.values[key] {
            Value::Null => Ok(None),
            value => {
                let count = value.as_u64().filter(|n| (1..1 << 31).contains(n));
                count.map(|n| Some(n as usize)).ok_or_else(|| bad(key, "a positive whole number"))
            }
        }
    }

    fn number(&self, key: &str, default: Option<f64>) -> Result<f64, WeightsError> {
        match (&self.values[key], default) {
            (Value::Null, Some(default)) => Ok(default),
            (Value::Null, None) => Err(WeightsError::MissingKey(key.to_owned())),
            (value, _) => {
                let number = value.as_f64().filter(|x| x.is_finite() && *x > 0.0);
                number.ok_or_else(|| bad(key, "a positive number"))
            }
        }
    }
}

fn bad(key: &str, expected: &'static str) -> WeightsError {
    WeightsError::BadValue { key: key.to_owned(), expected }
}

/// Sizes that fit one another.
pub(super) fn check(shape: &Shape) -> Result<(), WeightsError> {
    if !shape.heads.is_multiple_of(shape.kv_heads) {
        return Err(bad("num_key_value_heads", "a divisor of the number of heads"));
    }
    if shape.head_width == 0 || !shape.head_width.is_multiple_of(2) {
        return Err(bad("num_attention_heads", "such that heads have an even width"));
    }
    Ok(())
}
