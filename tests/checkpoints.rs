//! Checkpoints that are wrong: each fault is told in one line that names the file, the tensor or the setting.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use repair::model::{LoadOptions, ModelError, load};
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// A copy to be spoilt.
fn copy(name: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture(name)).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    dir
}

/// The chain of errors as the program prints it, the directory left out.
fn told(dir: &Path) -> String {
    let options = LoadOptions { threads: Some(1), ..LoadOptions::default() };
    let Err(error) = load(dir, options) else { return "loaded".to_owned() };
    let first: &dyn std::error::Error = &error;
    let chain: Vec<String> =
        std::iter::successors(Some(first), |error| error.source()).map(ToString::to_string).collect();
    chain.join(": ").replace(&dir.display().to_string(), "DIR").replace("cannot use the weights `DIR`: ", "")
}

fn check(name: &str, spoil: impl FnOnce(&Path), expected: &str) {
    let dir = copy(name);
    spoil(dir.path());
    assert_eq!(told(dir.path()), expected);
}

/// Changes a setting of `config.json`.
fn set(key: &str, value: serde_json::Value) -> impl FnOnce(&Path) {
    move |dir| {
        let path = dir.join("config.json");
        let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        config[key] = value;
        std::fs::write(path, config.to_string()).unwrap();
    }
}

/// Changes the tensors of a safetensors file.
fn tensors(change: impl FnOnce(&mut HashMap<String, Tensor>)) -> impl FnOnce(&Path) {
    move |dir| {
        let path = dir.join("model.safetensors");
        let mut tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
        change(&mut tensors);
        candle_core::safetensors::save(&tensors, path).unwrap();
    }
}

fn cut(file: &'static str, keep: usize) -> impl FnOnce(&Path) {
    move |dir| {
        let bytes = std::fs::read(dir.join(file)).unwrap();
        std::fs::write(dir.join(file), &bytes[..keep.min(bytes.len() - 1)]).unwrap();
    }
}

#[test]
fn what_is_missing_is_named() {
    let remove = |file: &'static str| move |dir: &Path| std::fs::remove_file(dir.join(file)).unwrap();
    check(
        "codet5",
        remove("pytorch_model.bin"),
        "no `model.safetensors` or `pytorch_model.bin`, whole or with an index, beside `config.json`",
    );
    check(
        "codet5",
        remove("vocab.json"),
        "no `tokenizer.json`, nor `vocab.json` with `merges.txt`, beside `config.json`",
    );
    check(
        "codet5",
        remove("added_tokens.json"),
        "the tokenizer has no special token `<extra_id_1>`, which the prompt needs",
    );
    check(
        "qwen2",
        remove("model-00002-of-00002.safetensors"),
        "the index names `model-00002-of-00002.safetensors`, which is not there",
    );
    check("mellum", tensors(|all| drop(all.remove("lm_head.weight"))), "tensor `lm_head.weight` is missing");
    check(
        "granite",
        tensors(|all| drop(all.remove("model.layers.1.mlp.up_proj.weight"))),
        "tensor `model.layers.1.mlp.up_proj.weight` is missing",
    );
    check("codet5", set("d_model", serde_json::Value::Null), "metadata key `d_model` is missing");
    check("codet5", set("model_type", serde_json::Value::Null), "metadata key `model_type` is missing");
}

#[test]
fn what_was_cut_short_is_told() {
    check(
        "mellum",
        cut("model.safetensors", 40_000),
        "cannot use `DIR/model.safetensors`: truncated: tensor `model.norm.weight` ends at byte 69880, the file at 40000",
    );
    for keep in [0, 7, 300] {
        check(
            "mellum",
            cut("model.safetensors", keep),
            "cannot use `DIR/model.safetensors`: not a safetensors file, or its header is damaged or cut short",
        );
    }
    for keep in [0, 100, 50_000] {
        let dir = copy("codet5");
        cut("pytorch_model.bin", keep)(dir.path());
        let told = told(dir.path());
        let expected = "cannot use `DIR/pytorch_model.bin`: not a PyTorch archive of tensors, or cut short";
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn what_does_not_fit_together_is_told() {
    check(
        "mellum",
        set("vocab_size", 280.into()),
        "tensor `model.embed_tokens.weight` has shape [287, 32], not [280, 32]",
    );
    // A tokenizer of another model.
    check(
        "granite",
        |dir| {
            std::fs::copy(fixture("qwen2").join("tokenizer.json"), dir.join("tokenizer.json")).unwrap();
        },
        "the tokenizer has 289 tokens, the embedding 287 rows",
    );
    check(
        "mellum",
        tensors(|all| {
            let packed = Tensor::zeros((32, 32), DType::U8, &Device::Cpu).unwrap();
            all.insert("model.layers.0.self_attn.o_proj.weight".to_owned(), packed);
        }),
        "tensor `model.layers.0.self_attn.o_proj.weight` holds U8, not floating-point numbers of 16 to 64 bits",
    );
    check(
        "mellum",
        set("hidden_act", "quick_gelu".into()),
        "metadata key `hidden_act` should be `silu`, `gelu`, `gelu_pytorch_tanh` or `relu`",
    );
    check(
        "mellum",
        set("rope_parameters", serde_json::json!({"rope_type": "yarn", "factor": 4.0})),
        "metadata key `rope_scaling` should be absent or linear",
    );
    check(
        "codet5",
        set("feed_forward_proj", "gated-silu".into()),
        "metadata key `feed_forward_proj` should be `relu` or `gated-gelu`",
    );
    check("codet5", set("model_type", "bart".into()), "architecture `bart` is not supported");
    check("codet5", set("d_kv", 0.into()), "metadata key `d_kv` should be a positive whole number");
    check(
        "mellum",
        set("num_key_value_heads", 3.into()),
        "metadata key `num_key_value_heads` should be a divisor of the number of heads",
    );
}

#[test]
fn files_that_are_no_json_are_named() {
    for (file, name) in [("config.json", "codet5"), ("vocab.json", "codet5"), ("tokenizer.json", "qwen2")] {
        let dir = copy(name);
        cut(file, 40)(dir.path());
        let told = told(dir.path());
        assert!(told.starts_with(&format!("`DIR/{file}` is not understood: ")), "{told}");
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let dir = copy("codet5");
    let mut random = 7u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    let sound: Vec<(&str, Vec<u8>)> = ["config.json", "merges.txt", "vocab.json", "added_tokens.json"]
        .map(|file| (file, std::fs::read(dir.path().join(file)).unwrap()))
        .into();
    for round in 0..120 {
        let (file, bytes) = &sound[round % sound.len()];
        let mut bytes = bytes.clone();
        let place = next() % bytes.len();
        bytes[place] = next() as u8;
        std::fs::write(dir.path().join(file), &bytes).unwrap();
        // Any verdict will do; some changes touch nothing that matters.
        let _verdict = told(dir.path());
        std::fs::write(dir.path().join(file), &sound[round % sound.len()].1).unwrap();
    }
}

#[test]
fn weights_that_are_not_finite_stop_the_first_step() {
    let dir = copy("mellum");
    tensors(|all| {
        let nan = Tensor::full(f32::NAN, 32, &Device::Cpu).unwrap().to_dtype(DType::F16).unwrap();
        all.insert("model.norm.weight".to_owned(), nan);
    })(dir.path());
    let mut model = load(dir.path(), LoadOptions { threads: Some(1), ..LoadOptions::default() }).unwrap();
    assert!(matches!(model.prime(&[10, 11, 12]), Err(ModelError::NotFinite { position: 2 })));
}

#[test]
fn safetensors_and_pickles_of_the_same_numbers_are_the_same_model() {
    let dir = copy("codet5");
    let all = candle_core::pickle::read_all(dir.path().join("pytorch_model.bin")).unwrap();
    candle_core::safetensors::save(&all.into_iter().collect(), dir.path().join("model.safetensors")).unwrap();
    let options = LoadOptions { threads: Some(1), ..LoadOptions::default() };
    let (mut one, mut other) =
        (load(dir.path(), options).unwrap(), load(&fixture("codet5"), options).unwrap());
    assert_eq!(one.prime(&[1, 50, 60, 2]).unwrap(), other.prime(&[1, 50, 60, 2]).unwrap());
    assert_ne!(one.identity().sha256, other.identity().sha256);
}
