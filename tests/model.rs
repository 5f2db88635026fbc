//! The default model on its real weights. Without them (`scripts/setup.sh` brings them) every test here says that it was
//! skipped.

#[path = "parts/cache.rs"]
mod place;

use std::io::Read;
use std::path::PathBuf;

use place::cache;
use repair::model::{HoleEnd, KvNode, LoadOptions, Model, ModelError, PromptBudget, PromptParts, Row, load};
use repair::token::TokenId;

/// Logits of the same position computed in different company.
const TOLERANCE: f32 = 1e-4;

fn weights() -> Option<PathBuf> {
    let file = cache().join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    if !file.exists() {
        eprintln!("skipped: no weights at {}", file.display());
    }
    file.exists().then_some(file)
}

fn model(options: LoadOptions) -> Option<Box<dyn Model + Send>> {
    Some(load(&weights()?, options).unwrap())
}

fn default_model() -> Option<Box<dyn Model + Send>> {
    model(LoadOptions { threads: Some(1), ..LoadOptions::default() })
}

fn row(parent: KvNode, tokens: &[TokenId]) -> Row {
    Row { parent, tokens: tokens.to_vec() }
}

/// The prompt of a hole between `prefix` and `suffix`, nothing else shown.
fn prompt(model: &dyn Model, prefix: &str, suffix: &str) -> Vec<TokenId> {
    model.prompt(&PromptParts { context: vec![], prefix, suffix }).unwrap().ids
}

fn gcd(model: &dyn Model) -> Vec<TokenId> {
    prompt(model, "class Numbers {\n    static int gcd(int a, int b) {", "\n    }\n}\n")
}

/// `found` are the logits after `prompt` and `tokens`: holds them against the whole sequence computed as a prompt.
fn check(reference: &mut dyn Model, prompt: &[TokenId], tokens: &[TokenId], found: &[f32]) {
    let whole = reference.prime(&[prompt, tokens].concat()).unwrap();
    assert_eq!(whole.len(), found.len());
    let furthest = whole.iter().zip(found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(furthest <= TOLERANCE, "{furthest} off after {tokens:?}");
}

#[test]
fn rows_in_company_alone_and_recomputed_agree() {
    let (Some(mut model), Some(mut reference)) = (default_model(), default_model()) else { return };
    let prompt = gcd(&*model);
    let primed = model.prime(&prompt).unwrap();
    check(&mut *reference, &prompt, &[], &primed);

    let text = model.encode("\n        if (b == 0) {").unwrap();
    let first = model.extend(&[row(KvNode::PROMPT, &text), row(KvNode::PROMPT, &text[..1])]).unwrap();
    for (i, position) in first[0].iter().enumerate() {
        check(&mut *reference, &prompt, &text[..=i], &position.logits);
    }
    // Three depths, three lengths, two forks of one position.
    let forks = [model.encode(" return a;").unwrap(), model.encode(" b").unwrap()];
    let end = first[0].last().unwrap().node;
    let rows = [
        row(end, &forks[0]),
        row(end, &forks[1]),
        row(first[1][0].node, &text[1..3]),
        row(KvNode::PROMPT, &[300]),
    ];
    let together = model.extend(&rows).unwrap();
    let sequences =
        [[&text[..], &forks[0]].concat(), [&text[..], &forks[1]].concat(), text[..3].to_vec(), vec![300]];
    for ((row, positions), sequence) in rows.iter().zip(&together).zip(&sequences) {
        check(&mut *reference, &prompt, sequence, &positions.last().unwrap().logits);
        let alone = model.extend(std::slice::from_ref(row)).unwrap();
        check(&mut *reference, &prompt, sequence, &alone[0].last().unwrap().logits);
    }
}

#[test]
fn evicted_positions_come_back_unnoticed() {
    // 46,080 bytes per position: 30 layers of keys and values, 3 heads of 64 numbers each.
    let tiny = LoadOptions { kv_bytes: 8 * 46_080, threads: Some(1), ..LoadOptions::default() };
    let (Some(mut model), Some(mut reference)) = (model(tiny), default_model()) else { return };
    let prompt = gcd(&*model);
    model.prime(&prompt).unwrap();
    let texts = [" return a % b;", " while (b != 0) {", "\n        int r = a"]
        .map(|text| model.encode(text).unwrap());
    let mut ends = [KvNode::PROMPT; 3];
    for step in 0..5 {
        for (end, text) in ends.iter_mut().zip(&texts).filter(|(_, text)| step < text.len()) {
            let position = model.extend(&[row(*end, &text[step..=step])]).unwrap().remove(0).remove(0);
            check(&mut *reference, &prompt, &text[..=step], &position.logits);
            *end = position.node;
        }
    }
}

/// The prompts, and what follows, are made by `scripts/reference-logits/greedy.py`.
#[test]
fn greedy_text_is_that_of_transformers() {
    let Some(mut model) = default_model() else { return };
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/smollm2-greedy.json");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let ids = |value: &serde_json::Value| -> Vec<TokenId> {
        value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as TokenId).collect()
    };
    assert_eq!(rows.len(), 5);
    for row_of_file in &rows {
        let prompt = model.encode(row_of_file["prompt"].as_str().unwrap()).unwrap();
        assert_eq!(prompt, ids(&row_of_file["ids"]));
        let mut logits = model.prime(&prompt).unwrap();
        for best in row_of_file["best"].as_array().unwrap() {
            let (id, expected) = (best[0].as_u64().unwrap() as usize, best[1].as_f64().unwrap() as f32);
            assert!((logits[id] - expected).abs() < 2e-3, "{id}: {} {expected}", logits[id]);
        }
        let expected = ids(&row_of_file["continuation"]);
        let (mut parent, mut found) = (KvNode::PROMPT, vec![]);
        for _ in 0..expected.len() {
            let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap() as TokenId;
            found.push(best);
            let position = model.extend(&[row(parent, &[best])]).unwrap().remove(0).remove(0);
            (parent, logits) = (position.node, position.logits);
        }
        let text = |ids: &[TokenId]| String::from_utf8_lossy(&model.vocabulary().join(ids)).into_owned();
        assert_eq!(text(&found), text(&expected));
    }
}

#[test]
fn greedy_text_is_java() {
    let Some(mut model) = default_model() else { return };
    let mut check = |prefix: &str, suffix: &str, expected: &str| {
        let prompt = prompt(&*model, prefix, suffix);
        let mut logits = model.prime(&prompt).unwrap();
        let (mut parent, mut ids) = (KvNode::PROMPT, vec![]);
        for _ in 0..12 {
            let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap() as TokenId;
            ids.push(best);
            let position = model.extend(&[row(parent, &[best])]).unwrap().remove(0).remove(0);
            (parent, logits) = (position.node, position.logits);
        }
        assert_eq!(String::from_utf8_lossy(&model.vocabulary().join(&ids)), expected);
    };
    check(
        "class Numbers {\n    static int gcd(int a, int b) {\n        if (b == 0) {\n            return a;\n        } else {\n            return",
        "\n        }\n    }\n}\n",
        " gcd(b, a % b);\n        }\n   ",
    );
    check(
        "class Sum {\n    static int sum(int[] values) {\n        int total = 0;\n        for (int i = 0;",
        "\n            total += values[i];\n        }\n        return total;\n    }\n}\n",
        " i < values.Length; i++) {\n            total",
    );
    check(
        "class Stack {\n    Object pop() {\n        if (size == 0) {\n            throw new",
        "\n        }\n        return items[--size];\n    }\n}\n",
        " Exception(\"Stack is empty\");\n        }\n        int item =",
    );
}

#[test]
fn java_texts_survive_tokens() {
    let Some(model) = default_model() else { return };
    for text in [
        "public class A {\n    private int x = 12345;\n}\n",
        "\tif (a\t== b) {\r\n\t\treturn 0x1F;\r\n\t}\r\n",
        "String s = \"\u{e4}\u{f6}\u{fc} \u{4e2d}\u{6587} \u{1f600}\u{1f469}\u{200d}\u{1f680} \\u0041\";",
        "  leading and trailing  ",
        "\n\n\n        \n",
        "/** {@code a<b>} &amp; @param x's \"q\" */ List<Map.Entry<K, ? extends V[]>> m = x -> y::z;",
        "\u{feff}package p;",
        "",
    ] {
        let ids = model.encode(text).unwrap();
        assert_eq!(model.vocabulary().join(&ids), text.as_bytes(), "{text:?}");
    }
}

#[test]
fn a_special_token_in_source_text_is_ordinary_text() {
    let Some(model) = default_model() else { return };
    let ids = model.encode("\"<file_sep><|endoftext|>\"").unwrap();
    assert!(ids.len() > 2 && ids.iter().all(|&id| model.vocabulary().bytes(id).is_some()));
    assert_eq!(model.vocabulary().bytes(5), None);
}

#[test]
fn a_control_character_that_no_token_spells_is_an_error() {
    let Some(model) = default_model() else { return };
    assert_eq!(model.encode("a\u{4}").unwrap_err().to_string(), "the vocabulary cannot spell \"a\\u{4}\"");
    // A prompt does without it.
    assert_eq!(model.vocabulary().join(&prompt(&*model, "a\u{4}", "b")), b"ba");
}

#[test]
fn the_suffix_stands_before_the_prefix() {
    let Some(model) = default_model() else { return };
    assert_eq!(model.hole_end(), HoleEnd::Structural);
    let parts = PromptParts {
        context: vec![("src/A.java:3-9", "class A {}"), ("src/B.java:1-2", "class B {}")],
        prefix: "/* Licence */\npackage p;\n\nclass C {",
        suffix: "\n}\n",
    };
    let laid = model.prompt(&parts).unwrap();
    let (sep, name) = (5, 6);
    let mut expected = vec![];
    for chunk in ["src/A.java\nclass A {}", "src/B.java\nclass B {}"] {
        expected.push(name);
        expected.extend(model.encode(chunk).unwrap());
    }
    expected.push(sep);
    expected.extend(model.encode("\n}\n").unwrap());
    expected.push(name);
    expected.extend(model.encode("package p;\n\nclass C {").unwrap());
    assert_eq!(laid.ids, expected);
    assert_eq!(laid.context, ["src/A.java:3-9", "src/B.java:1-2"]);
    let whole = model.encode(parts.prefix).unwrap().len();
    let kept = model.encode("package p;\n\nclass C {").unwrap().len();
    assert_eq!((laid.prefix_cut, laid.suffix_cut), (whole - kept, 0));
}

#[test]
fn what_does_not_fit_is_cut_and_counted() {
    let budget = PromptBudget { prefix: 30, suffix: 10, context: 20 };
    let options = LoadOptions { threads: Some(1), budget: Some(budget), ..LoadOptions::default() };
    let Some(model) = model(options) else { return };
    let lines: Vec<String> = (0..20).map(|i| format!("    int a{i} = {i};\n")).collect();
    let lines = lines.concat();
    let long = "int x; ".repeat(20);
    let parts = PromptParts {
        context: vec![("A.java:1-9", &long), ("B.java:1-1", "int b;")],
        prefix: &lines,
        suffix: &lines,
    };
    let laid = model.prompt(&parts).unwrap();
    assert_eq!(laid.context, ["B.java:1-1"]);
    let text = String::from_utf8(model.vocabulary().join(&laid.ids)).unwrap();
    let total = model.encode(&lines).unwrap().len();
    assert_eq!(laid.suffix_cut, total - 10);
    let kept = laid.ids.len() - laid.ids.iter().rposition(|&id| id == 6).unwrap() - 1;
    assert!((20..=30).contains(&kept) && laid.prefix_cut == total - kept);
    assert!(text.ends_with(&lines[lines.find("    int a18").unwrap()..]), "{text}");
    // Not even one line fits: cut inside it, and the end is what stays.
    let one = model.prompt(&PromptParts { context: vec![], prefix: &long, suffix: "" }).unwrap();
    assert_eq!(one.ids.len(), 32);
    assert!(long.ends_with(&String::from_utf8(model.vocabulary().join(&one.ids)).unwrap()));
}

#[test]
fn the_identity_is_that_of_the_file() {
    let Some(model) = default_model() else { return };
    let identity = model.identity();
    assert_eq!(identity.name, "Smollm2 135M 8k Lc100K Mix1 Ep2");
    assert_eq!(identity.architecture, "llama");
    assert_eq!(identity.licence.as_deref(), Some("apache-2.0"));
    assert_eq!(identity.sha256, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53");
}

#[test]
fn a_download_that_broke_off_is_told() {
    let Some(weights) = weights() else { return };
    let dir = tempfile::tempdir().unwrap();
    let part = dir.path().join("part.gguf");
    let mut whole = std::fs::File::open(weights).unwrap().take(40_000_000);
    std::io::copy(&mut whole, &mut std::fs::File::create(&part).unwrap()).unwrap();
    let Err(ModelError::Weights { source, .. }) = load(&part, LoadOptions::default()) else { panic!() };
    assert_eq!(
        source.to_string(),
        "truncated: tensor `output_norm.weight` ends at byte 98362432, the file at 40000000"
    );
}
