//! What can go wrong with weights and with a step of a model.

use std::path::PathBuf;

use super::device::DeviceChoice;
use crate::token::TokenId;

/// What can go wrong with a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The weights cannot be used; the source says why.
    #[error("cannot use the weights `{path}`")]
    Weights {
        /// The file or directory that was given.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<WeightsError>,
    },
    /// The model is not on this machine, and must not or cannot be fetched.
    #[error("model `{name}` is not in `{}` and the hub may not be asked: unset HF_HUB_OFFLINE, or give a directory", .cache.display())]
    Offline {
        /// The model.
        name: String,
        /// The hub's cache.
        cache: PathBuf,
    },
    /// The hub did not give a file.
    #[error("cannot fetch `{file}` of `{name}` from the hub")]
    Hub {
        /// The model.
        name: String,
        /// The file.
        file: String,
        /// What the hub or the network said.
        #[source]
        source: Box<hf_hub::api::sync::ApiError>,
    },
    /// A model of the hub without files that this program reads.
    #[error("`{name}` has no {what} on the hub")]
    NotOnHub {
        /// The model.
        name: String,
        /// What is missing.
        what: String,
    },
    /// A directory whose files do not tell which of them is meant.
    #[error("`{}` does not hold exactly one GGUF file of the variant `{variant}`", .dir.display())]
    NoVariant {
        /// The directory.
        dir: PathBuf,
        /// What stood behind the colon.
        variant: String,
    },
    /// A file differs from what the hub says of it.
    #[error("`{}` was damaged on its way: its SHA-256 is {found}, not {expected}; it was removed", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A file of the cache cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The build has no code for the device.
    #[error("this build cannot compute on {device}: build it with `cargo build --features {feature}`")]
    NoFeature {
        /// What was asked for.
        device: DeviceChoice,
        /// The feature of the build that it needs.
        feature: &'static str,
    },
    /// The device cannot be opened.
    #[error("cannot open the device {device}")]
    Device {
        /// What was asked for.
        device: DeviceChoice,
        /// The driver's own error.
        #[source]
        source: candle_core::Error,
    },
    /// The threads for the arithmetic could not be started.
    #[error("cannot start {threads} threads for the model")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// The pool's own error.
        #[source]
        source: rayon::ThreadPoolBuildError,
    },
    /// The tokenizer failed on a text.
    #[error("cannot tokenise a text of {bytes} bytes")]
    Tokenise {
        /// Length of the text.
        bytes: usize,
        /// The tokenizer's own error.
        #[source]
        source: tokenizers::Error,
    },
    /// The vocabulary has no token for some byte of the text (a control character, most likely).
    #[error("the vocabulary cannot spell {text:?}")]
    Unspellable {
        /// The text that does not survive the round trip.
        text: String,
    },
    /// Arithmetic failed: shapes, memory or the device.
    #[error("the model failed in `{operation}`")]
    Compute {
        /// What was being computed.
        operation: &'static str,
        /// Candle's own error.
        #[source]
        source: candle_core::Error,
    },
    /// [`prime`](super::Model::prime) has not been called, or the last call failed.
    #[error("no prompt is primed")]
    NotPrimed,
    /// The prompt or a row has no tokens.
    #[error("the {part} has no tokens")]
    Empty {
        /// `prompt` or `row`.
        part: &'static str,
    },
    /// A row continues below a position that this prompt does not have.
    #[error("position {node} is not in the key-value pool")]
    UnknownNode {
        /// The unknown node's index.
        node: u32,
    },
    /// A token id that is not in the vocabulary.
    #[error("token {token} is outside the vocabulary of {len}")]
    UnknownToken {
        /// The id.
        token: u32,
        /// Length of the vocabulary.
        len: usize,
    },
    /// The sequence would be longer than the model can see.
    #[error("{len} tokens are more than the context window of {window}")]
    WindowFull {
        /// Length the sequence would have, the prompt included.
        len: usize,
        /// The model's context window.
        window: usize,
    },
    /// The logits hold NaN or infinity: the weights or the arithmetic are broken.
    #[error("logits at position {position} are not finite")]
    NotFinite {
        /// Position in the sequence, the prompt included.
        position: usize,
    },
}

/// Why a file cannot serve as weights.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file cannot be read at all.
    #[error("cannot read it")]
    Read(#[from] std::io::Error),
    /// A directory that holds no single weights file.
    #[error("the directory holds {count} `.gguf` files, not exactly one, and no `config.json`")]
    NotOne {
        /// How many it holds.
        count: usize,
    },
    /// A checkpoint without weights.
    #[error("no `model.safetensors` or `pytorch_model.bin`, whole or with an index, beside `config.json`")]
    NoWeights,
    /// A part that the index of a checkpoint names.
    #[error("the index names `{0}`, which is not there")]
    MissingPart(String),
    /// One of several weights files cannot be used.
    #[error("cannot use `{}`", .path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<WeightsError>,
    },
    /// A checkpoint without a tokenizer.
    #[error("no `tokenizer.json`, nor `vocab.json` with `merges.txt`, beside `config.json`")]
    NoTokenizer,
    /// A file that is no JSON of its kind.
    #[error("`{}` is not understood", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A line of `merges.txt` that is no pair.
    #[error("`merges.txt` has the line `{0}`, which is no pair of tokens")]
    Merges(String),
    /// A token id that no vocabulary reaches.
    #[error("token id {0} is out of all proportion")]
    TokenId(TokenId),
    /// The header of a safetensors file makes no sense or stops in the middle.
    #[error("not a safetensors file, or its header is damaged or cut short")]
    SafetensorsHeader,
    /// A pickled file that cannot be read.
    #[error(
        "not a PyTorch archive of tensors, or cut short (files older than PyTorch 1.6 must be saved again)"
    )]
    Pickle(#[source] candle_core::Error),
    /// A tensor of whole numbers, or of numbers that are packed in a way of their own.
    #[error("tensor `{name}` holds {found}, not floating-point numbers of 16 to 64 bits")]
    Dtype {
        /// Name of the tensor.
        name: String,
        /// Its type.
        found: String,
    },
    /// A tensor that is a part of another's memory.
    #[error("tensor `{0}` was saved as a view of another; save it by itself")]
    View(String),
    /// The weights do not fit into memory.
    #[error("needs {} of memory, of which {} are free", gib(*.needed), gib(*.free))]
    Memory {
        /// Bytes that the numbers take where they are computed with.
        needed: u64,
        /// Bytes that the system can give.
        free: u64,
    },
    /// The numbers of a tensor are no numbers.
    #[error("tensor `{0}` holds NaN or infinity")]
    NotFinite(String),
    /// The file does not start like a GGUF file.
    #[error("not a GGUF file")]
    NotGguf,
    /// The header makes no sense or stops in the middle.
    #[error("the GGUF header is damaged or cut short")]
    Header(#[source] candle_core::Error),
    /// The file ends before its tensors do.
    #[error("truncated: tensor `{tensor}` ends at byte {end}, the file at {len}")]
    Truncated {
        /// The tensor that reaches farthest.
        tensor: String,
        /// Where its data would end.
        end: u64,
        /// Length of the file.
        len: u64,
    },
    /// An architecture that this program has no code for.
    #[error("architecture `{found}` is not supported")]
    Architecture {
        /// `general.architecture` of a GGUF file, `model_type` of a `config.json`.
        found: String,
    },
    /// A metadata key that must be there is not.
    #[error("metadata key `{0}` is missing")]
    MissingKey(String),
    /// A metadata value of the wrong type or out of range.
    #[error("metadata key `{key}` should be {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// What was expected of it.
        expected: &'static str,
    },
    /// A tensor that must be there is not.
    #[error("tensor `{0}` is missing")]
    MissingTensor(String),
    /// A tensor whose shape disagrees with the metadata.
    #[error("tensor `{name}` has shape {found:?}, not {expected:?}")]
    Shape {
        /// Name of the tensor.
        name: String,
        /// Shape by the metadata.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },
    /// The bytes of a tensor could not be turned into numbers.
    #[error("tensor `{name}` cannot be read")]
    Tensor {
        /// Name of the tensor.
        name: String,
        /// Candle's own error.
        #[source]
        source: candle_core::Error,
    },
    /// A tokenizer model other than byte-level BPE.
    #[error("tokenizer model `{found}` is not supported (only byte pairs are)")]
    TokenizerModel {
        /// `tokenizer.ggml.model` of a GGUF file, `model.type` of a `tokenizer.json`.
        found: String,
    },
    /// A pre-tokenizer whose rules this program does not know.
    #[error("pre-tokenizer `{found}` is not supported")]
    PreTokenizer {
        /// `tokenizer.ggml.pre` of the file.
        found: String,
    },
    /// An ordinary token that is not spelt in the byte-level alphabet.
    #[error("token {id} (`{text}`) is not in the byte-level alphabet")]
    TokenText {
        /// Its id.
        id: usize,
        /// Its text in the file.
        text: String,
    },
    /// The merges do not fit the vocabulary.
    #[error("the tokenizer cannot be built")]
    Tokenizer(#[source] tokenizers::Error),
    /// The layout of the prompt needs a special token that the tokenizer lacks.
    #[error("the tokenizer has no special token `{0}`, which the prompt needs")]
    MissingToken(&'static str),
    /// Tokenizer and embedding do not belong together.
    #[error("the tokenizer has {tokens} tokens, the embedding {rows} rows")]
    VocabularySize {
        /// Entries of the tokenizer.
        tokens: usize,
        /// Rows of the embedding.
        rows: usize,
    },
}

/// Bytes for people.
fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}
