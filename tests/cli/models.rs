//! Whole repairs with tiny random models: nonsense patches, but the sentinels, the end of a hole and the record as they
//! must be.

use std::path::{Path, PathBuf};

use crate::support::{CALC, Project, parts_are_there};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// Draws two samples with the model; the architecture in the manifest, and what its prompt is by ids.
fn check(name: &str, architecture: &str) -> Vec<u64> {
    let project = Project::calc(CALC.as_bytes());
    let model = fixture(name);
    let words = ["--at", "src/main/java/a/Calc.java:5", "--test", "a.CalcTest#adds", "-n", "2", "--engine", "off"];
    let words = [&words[..], &["--prior", "off", "--model", model.to_str().unwrap()]].concat();
    let output = project.command(&words).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    // Random text does not repair anything.
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(project.run_dir().join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["model"]["architecture"], architecture);
    assert_eq!(manifest["model"]["path"], model.to_str().unwrap());
    let samples = project.lines("patches.jsonl");
    assert_eq!(samples.len(), 2, "{stderr}");
    for sample in &samples {
        let tokens = sample["tokens"].as_array().unwrap();
        let sum: f64 = tokens.iter().map(|token| token[1].as_f64().unwrap()).sum();
        assert!((sum - sample["log_p"].as_f64().unwrap()).abs() < 1e-6);
        // The text is what the tokens before the end token spell; the end token itself spells nothing.
        let text: String = tokens.iter().map(|token| token[0].as_str().unwrap()).collect();
        assert_eq!(text.trim_end(), sample["fill"].as_str().unwrap());
        assert_eq!(tokens.last().unwrap()[0], "");
    }
    let ids = manifest["prompt"]["ids"].as_array().unwrap();
    ids.iter().map(|id| id.as_u64().unwrap()).collect()
}

#[test]
fn codet5_fills_a_hole() {
    if !parts_are_there() {
        return;
    }
    let ids = check("codet5", "t5");
    // `<s>` text `<extra_id_0>` text `</s>`, of 385 tokens whose last is the first sentinel.
    assert_eq!((ids[0], ids.iter().filter(|&&id| id == 384).count(), ids[ids.len() - 1]), (1, 1, 2));
}

#[test]
fn incoder_fills_a_hole() {
    if !parts_are_there() {
        return;
    }
    let ids = check("incoder", "xglm");
    // `<|endoftext|>` ... `<|mask:0|>` ... `<|mask:1|>` `<|mask:0|>`.
    let (end_of_text, mask) = (280, 282);
    assert_eq!((ids[0], ids.iter().filter(|&&id| id == mask).count()), (end_of_text, 2));
    assert_eq!(ids[ids.len() - 2..], [mask + 1, mask]);
}
