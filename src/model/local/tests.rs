//! Loading tiny files made here, sound ones and wrong ones.

use std::io::Cursor;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use super::*;
use crate::model::{KvNode, load};

/// A GGUF file before it is written.
struct Draft {
    metadata: Vec<(&'static str, Value)>,
    tensors: Vec<(String, Vec<usize>)>,
}

/// A llama of one layer whose tokens are the bytes and two special ones.
fn draft() -> Draft {
    let text = |text: &str| Value::String(text.to_owned());
    let printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let alphabet = (0..=255).filter(printable).map(char::from).chain('\u{100}'..='\u{143}');
    let mut tokens = vec![text("<file_sep>"), text("<filename>")];
    tokens.extend(alphabet.map(|c| text(&c.to_string())));
    let types = (0..tokens.len()).map(|i| Value::I32(if i < 2 { 3 } else { 1 })).collect();
    let metadata = vec![
        ("general.architecture", text("llama")),
        ("general.name", text("tiny")),
        ("llama.block_count", Value::U32(1)),
        ("llama.context_length", Value::U32(64)),
        ("llama.embedding_length", Value::U32(8)),
        ("llama.feed_forward_length", Value::U32(12)),
        ("llama.attention.head_count", Value::U32(2)),
        ("llama.attention.head_count_kv", Value::U32(1)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("smollm")),
        ("tokenizer.ggml.tokens", Value::Array(tokens)),
        ("tokenizer.ggml.token_type", Value::Array(types)),
        ("tokenizer.ggml.merges", Value::Array(vec![text("a b")])),
    ];
    let shapes: [(&str, &[usize]); 11] = [
        ("token_embd.weight", &[258, 8]),
        ("output_norm.weight", &[8]),
        ("blk.0.attn_norm.weight", &[8]),
        ("blk.0.attn_q.weight", &[8, 8]),
        ("blk.0.attn_k.weight", &[4, 8]),
        ("blk.0.attn_v.weight", &[4, 8]),
        ("blk.0.attn_output.weight", &[8, 8]),
        ("blk.0.ffn_norm.weight", &[8]),
        ("blk.0.ffn_gate.weight", &[12, 8]),
        ("blk.0.ffn_up.weight", &[12, 8]),
        ("blk.0.ffn_down.weight", &[8, 12]),
    ];
    let tensors = shapes.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec())).collect();
    let mut draft = Draft { metadata, tensors };
    // The merge needs its result.
    draft.list("tokenizer.ggml.tokens").push(text("ab"));
    draft.list("tokenizer.ggml.token_type").push(Value::I32(1));
    draft.tensors[0].1[0] = 259;
    draft
}

impl Draft {
    fn value(&mut self, key: &str) -> &mut Value {
        &mut self.metadata.iter_mut().find(|(k, _)| *k == key).unwrap().1
    }

    fn list(&mut self, key: &str) -> &mut Vec<Value> {
        let Value::Array(items) = self.value(key) else { panic!("`{key}` is no list") };
        items
    }

    fn set(&mut self, key: &str, value: Value) {
        *self.value(key) = value;
    }

    fn without(&mut self, key: &str) {
        self.metadata.retain(|(k, _)| *k != key);
        self.tensors.retain(|(name, _)| name != key);
    }

    fn bytes(&self) -> Vec<u8> {
        let tensor = |shape: &Vec<usize>| {
            let n: usize = shape.iter().product();
            let values: Vec<f32> = (0..n).map(|i| ((i * 37 + n) % 101) as f32 / 101.0 - 0.5).collect();
            let tensor = Tensor::from_vec(values, shape.as_slice(), &Device::Cpu).unwrap();
            QTensor::quantize(&tensor, GgmlDType::F32).unwrap()
        };
        let tensors: Vec<(&str, QTensor)> =
            self.tensors.iter().map(|(n, s)| (n.as_str(), tensor(s))).collect();
        let metadata: Vec<_> = self.metadata.iter().map(|(key, value)| (*key, value)).collect();
        let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let mut file = Cursor::new(Vec::new());
        gguf_file::write(&mut file, &metadata, &tensors).unwrap();
        file.into_inner()
    }
}

fn load_bytes(bytes: &[u8]) -> Result<LocalModel, ModelError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny.gguf");
    std::fs::write(&path, bytes).unwrap();
    LocalModel::load(&path, LoadOptions { threads: Some(1), kv_bytes: 1 << 20, ..LoadOptions::default() })
}

/// The first two links of the chain of errors say `expected` (without the path).
fn check(edit: impl FnOnce(&mut Draft), expected: &str) {
    let mut draft = draft();
    edit(&mut draft);
    assert_eq!(refusal(&draft.bytes()), expected);
}

fn refusal(bytes: &[u8]) -> String {
    match load_bytes(bytes) {
        Ok(_) => "loaded".to_owned(),
        Err(ModelError::Weights { source, .. }) => source.to_string(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_sound_file_is_loaded_and_computes() {
    let mut model = load_bytes(&draft().bytes()).unwrap();
    let identity = model.identity();
    assert_eq!((identity.name.as_str(), identity.architecture.as_str()), ("tiny", "llama"));
    assert_eq!((identity.sha256.len(), identity.licence.as_deref()), (64, None));
    let parts = PromptParts { context: vec![], prefix: "int ab", suffix: "\n}" };
    let prompt = model.prompt(&parts).unwrap();
    assert_eq!(model.vocabulary().join(&prompt.ids), b"\n}int ab");
    assert_eq!(model.prime(&prompt.ids).unwrap().len(), 259);
    let tokens = model.encode("ab;").unwrap();
    assert_eq!(tokens.len(), 2);
    let row = Row { parent: KvNode::PROMPT, tokens };
    assert_eq!(model.extend(&[row]).unwrap()[0].len(), 2);
}

#[test]
fn a_model_without_tokens_for_files_writes_left_to_right() {
    let mut draft = draft();
    draft.list("tokenizer.ggml.tokens")[0] = Value::String("<s>".to_owned());
    let model = load_bytes(&draft.bytes()).unwrap();
    let parts = PromptParts { context: vec![("A.java:1-2", "int c;")], prefix: "int ab", suffix: "\n}" };
    let prompt = model.prompt(&parts).unwrap();
    assert_eq!((prompt.ids[0], prompt.suffix_cut), (0, 2));
    assert_eq!(model.vocabulary().join(&prompt.ids), b"// A.java\nint c;\nint ab");
    assert_eq!(model.hole_end(), HoleEnd::Structural);
}

#[test]
fn files_that_are_no_gguf_are_told() {
    for bytes in [&b""[..], b"GG", b"PK\x03\x04zip", b"FUGG\0\0\0\x03"] {
        assert_eq!(refusal(bytes), "not a GGUF file");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = draft().bytes();
    for len in (4..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        let told = refusal(&bytes[..len]);
        let header = told == "the GGUF header is damaged or cut short";
        assert!(
            header || told.starts_with("truncated: tensor `blk.0.ffn_down.weight` ends at byte "),
            "{told}"
        );
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let sound = draft().bytes();
    let mut random = 1u64;
    for round in 0..600 {
        let mut bytes = sound.clone();
        for _ in 0..=round % 4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Mostly in the header's first part, where counts and lengths are.
            let place = (random >> 33) as usize % if round % 3 == 0 { bytes.len() } else { 700 };
            bytes[place] = (random >> 24) as u8;
        }
        // Any verdict will do; some changes touch nothing that matters.
        drop(load_bytes(&bytes));
    }
}

#[test]
fn sizes_out_of_all_proportion_cost_nothing() {
    check(|draft| draft.set("llama.context_length", Value::U32(u32::MAX >> 1)), "loaded");
    check(
        |draft| draft.set("llama.block_count", Value::U32(u32::MAX >> 1)),
        "tensor `blk.1.attn_output.weight` is missing",
    );
    check(
        |draft| draft.set("llama.feed_forward_length", Value::U32(u32::MAX >> 1)),
        "tensor `blk.0.ffn_gate.weight` has shape [12, 8], not [2147483647, 8]",
    );
}

#[test]
fn an_alignment_of_zero_is_refused() {
    check(
        |draft| draft.metadata.push(("general.alignment", Value::U32(0))),
        "the GGUF header is damaged or cut short",
    );
    check(|draft| draft.metadata.push(("general.alignment", Value::U32(32))), "loaded");
}

#[test]
fn other_architectures_and_tokenizers_are_named() {
    let text = |text: &str| Value::String(text.to_owned());
    check(|draft| draft.set("general.architecture", text("mamba")), "architecture `mamba` is not supported");
    check(
        |draft| draft.set("tokenizer.ggml.model", text("llama")),
        "tokenizer model `llama` is not supported (only byte pairs are)",
    );
    check(|draft| draft.set("tokenizer.ggml.pre", text("tekken")), "pre-tokenizer `tekken` is not supported");
}

#[test]
fn what_is_missing_is_named() {
    for key in ["general.architecture", "llama.block_count", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"]
    {
        check(|draft| draft.without(key), &format!("metadata key `{key}` is missing"));
    }
    for name in ["token_embd.weight", "output_norm.weight", "blk.0.attn_k.weight"] {
        check(|draft| draft.without(name), &format!("tensor `{name}` is missing"));
    }
    check(
        |draft| draft.set("llama.block_count", Value::U32(2)),
        "tensor `blk.1.attn_output.weight` is missing",
    );
}

#[test]
fn parts_that_do_not_fit_together_are_told() {
    check(|draft| draft.tensors[0].1[0] = 300, "the tokenizer has 259 tokens, the embedding 300 rows");
    check(|draft| draft.tensors[3].1[0] = 16, "tensor `blk.0.attn_q.weight` has shape [16, 8], not [8, 8]");
    check(
        |draft| draft.set("llama.attention.head_count", Value::U32(0)),
        "metadata key `llama.attention.head_count` should be a positive whole number",
    );
    check(
        |draft| draft.set("llama.attention.head_count", Value::String("two".to_owned())),
        "metadata key `llama.attention.head_count` should be a positive whole number",
    );
    check(
        |draft| draft.set("llama.attention.head_count_kv", Value::U32(3)),
        "metadata key `llama.attention.head_count_kv` should be a divisor of the number of heads",
    );
    check(
        |draft| {
            draft.list("tokenizer.ggml.token_type").pop();
        },
        "metadata key `tokenizer.ggml.token_type` should be as long as the list of tokens",
    );
    check(
        |draft| draft.list("tokenizer.ggml.merges")[0] = Value::String("a q_q".to_owned()),
        "the tokenizer cannot be built",
    );
    check(
        |draft| draft.list("tokenizer.ggml.tokens")[7] = Value::String("\u{4e2d}".to_owned()),
        "token 7 (`\u{4e2d}`) is not in the byte-level alphabet",
    );
}

#[test]
fn weights_that_do_not_fit_into_memory_are_refused_with_the_figure() {
    let place = Place::cpu();
    assert!(check_memory(1 << 10, &place).is_ok());
    if free_memory().is_some() {
        let error = check_memory(1 << 48, &place).unwrap_err().to_string();
        assert!(error.starts_with("needs 1048576.0 GiB of memory, of which "), "{error}");
    }
}

#[test]
fn a_directory_must_hold_exactly_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let told = || match load(dir.path(), LoadOptions::default()) {
        Err(ModelError::Weights { source, .. }) => source.to_string(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => "loaded".to_owned(),
    };
    std::fs::write(dir.path().join("README.md"), "").unwrap();
    assert_eq!(told(), "the directory holds 0 `.gguf` files, not exactly one, and no `config.json`");
    std::fs::write(dir.path().join("a.gguf"), draft().bytes()).unwrap();
    assert_eq!(told(), "loaded");
    std::fs::write(dir.path().join("b.gguf"), "").unwrap();
    assert_eq!(told(), "the directory holds 2 `.gguf` files, not exactly one, and no `config.json`");
}

#[test]
fn a_missing_file_is_told_with_its_path() {
    let error = load(Path::new("/nowhere/weights.gguf"), LoadOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "cannot use the weights `/nowhere/weights.gguf`");
    assert!(matches!(error, ModelError::Weights { source, .. } if matches!(*source, WeightsError::Read(_))));
}
