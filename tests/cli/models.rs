//! Whole repairs with tiny random models: nonsense patches, but the sentinels, the end of a hole and the record as they
//! must be.

use std::path::{Path, PathBuf};

use crate::support::{CALC, Project, command, parts_are_there};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// Draws a sample with the model, most likely that nothing stands in the hole; the ids of its prompt. Random text that is
/// balanced and new is rare, so there is one sample only.
fn check(name: &str, architecture: &str) -> Vec<u64> {
    let project = Project::calc(CALC.as_bytes());
    let model = fixture(name);
    let words =
        ["--at", "src/main/java/a/Calc.java:5", "--test", "a.CalcTest#adds", "-n", "1", "--engine", "off"];
    let model_words = ["--prior", "off", "--max-tokens", "8", "--model", model.to_str().unwrap()];
    let words = [&words[..], &model_words].concat();
    let output = project.command(&words).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    // Random text does not repair anything.
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(project.run_dir().join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["model"]["architecture"], architecture);
    assert_eq!(manifest["model"]["path"], model.to_str().unwrap());
    let samples = project.lines("patches.jsonl");
    assert_eq!(samples.len(), 1, "{stderr}");
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

/// A cache of the hub with the tiny CodeT5 under a known name.
fn hub_cache() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let model = home.path().join("hub/models--Salesforce--codet5-small");
    let snapshot = model.join("snapshots/abc");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(model.join("refs")).unwrap();
    std::fs::write(model.join("refs/main"), "abc").unwrap();
    for entry in std::fs::read_dir(fixture("codet5")).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), snapshot.join(entry.file_name())).unwrap();
    }
    home
}

#[test]
fn known_models_are_listed_with_licence_and_place() {
    let home = hub_cache();
    let run = |words: &[&str]| {
        let mut command = command(words);
        command.env("HF_HOME", home.path()).env_remove("HF_HUB_CACHE").output().unwrap()
    };
    let output = run(&["models", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let find = |name: &str| listed.iter().find(|model| model["name"] == name).unwrap();
    let codet5 = find("codet5-small");
    assert!(
        codet5["path"].as_str().unwrap().ends_with("snapshots/abc")
            && codet5["bytes"].as_u64().unwrap() > 100_000
    );
    let incoder = find("incoder-1b");
    assert_eq!((&incoder["path"], &incoder["licence"]), (&serde_json::Value::Null, &"CC-BY-NC-4.0".into()));
    assert_eq!(incoder["non_commercial"], true);
    let text = String::from_utf8(run(&["models"]).stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("incoder-1b")).unwrap();
    assert!(line.contains("CC-BY-NC-4.0, not for commercial use"), "{line}");
}

#[test]
fn a_cached_model_is_found_by_name_without_the_network() {
    let home = hub_cache();
    let weights = |name: &str| {
        let mut command = command(&["doctor", "--format", "json", "--model", name]);
        command.env("HF_HOME", home.path()).env_remove("HF_HUB_CACHE").env("HF_HUB_OFFLINE", "1");
        let parts: Vec<serde_json::Value> =
            serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        parts.iter().find(|part| part["name"] == "model weights").unwrap()["detail"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(weights("codet5-small").contains("(t5) in "));
    let told = weights("incoder-1b");
    assert!(told.starts_with("model `facebook/incoder-1B` is not in `"), "{told}");
}

#[test]
fn a_device_that_the_build_lacks_is_told() {
    if cfg!(feature = "cuda") {
        return;
    }
    let model = fixture("codet5");
    let mut command =
        command(&["doctor", "--format", "json", "--model", model.to_str().unwrap(), "--device", "cuda:1"]);
    let parts: Vec<serde_json::Value> = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let weights = parts.iter().find(|part| part["name"] == "model weights").unwrap();
    assert_eq!(
        weights["detail"],
        "this build cannot compute on cuda:1: build it with `cargo build --features cuda`"
    );
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
