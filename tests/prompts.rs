//! The prompt of every family for one hole, as text with the special tokens spelt out: alone, with chunks of the project,
//! and cut to the family's limit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use repair::model::{LoadOptions, Model, PromptBudget, PromptParts, load, load_tokenizer};
use repair::token::TokenId;

const PREFIX: &str = "int f() {\n    return";
const SUFFIX: &str = "\n}\n";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// Names of the special tokens by id.
fn specials(dir: &Path) -> HashMap<TokenId, String> {
    let read = |file: &str| -> Option<serde_json::Value> {
        serde_json::from_str(&std::fs::read_to_string(dir.join(file)).ok()?).ok()
    };
    if let Some(tokenizer) = read("tokenizer.json") {
        let added = tokenizer["added_tokens"].as_array().unwrap();
        return added
            .iter()
            .map(|token| {
                (token["id"].as_u64().unwrap() as TokenId, token["content"].as_str().unwrap().to_owned())
            })
            .collect();
    }
    let both = [read("vocab.json").unwrap(), read("added_tokens.json").unwrap()];
    let all = both.iter().flat_map(|file| file.as_object().unwrap());
    all.filter(|(text, _)| text.starts_with('<') && text.ends_with('>'))
        .map(|(text, id)| (id.as_u64().unwrap() as TokenId, text.clone()))
        .collect()
}

fn spelt(model: &dyn Model, dir: &Path, ids: &[TokenId]) -> String {
    let specials = specials(dir);
    let mut bytes = Vec::new();
    for id in ids {
        match model.vocabulary().bytes(*id) {
            Some(text) => bytes.extend(text),
            None => bytes.extend(format!("[{}]", specials[id]).into_bytes()),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn open(name: &str, budget: Option<PromptBudget>) -> Box<dyn Model + Send> {
    load(&fixture(name), LoadOptions { threads: Some(1), budget, ..LoadOptions::default() }).unwrap()
}

/// The prompt alone and with one chunk.
fn check(name: &str, alone: &str, with_chunk: &str) {
    let model = open(name, None);
    let show = |context| {
        let prompt = model.prompt(&PromptParts { context, prefix: PREFIX, suffix: SUFFIX }).unwrap();
        assert_eq!((prompt.prefix_cut, prompt.suffix_cut), (0, 0));
        spelt(model.as_ref(), &fixture(name), &prompt.ids)
    };
    assert_eq!(show(vec![]), alone, "{name}");
    assert_eq!(show(vec![("src/A.java:3-9", "class A {}")]), with_chunk, "{name}");
}

#[test]
fn each_family_has_its_own_layout() {
    check(
        "codet5",
        "[<s>]int f() {\n    return[<extra_id_0>]\n}\n[</s>]",
        "[<s>]// src/A.java\nclass A {}\nint f() {\n    return[<extra_id_0>]\n}\n[</s>]",
    );
    check(
        "incoder",
        "[<|endoftext|>]<| file ext=.java |>\nint f() {\n    return[<|mask:0|>]\n}\n[<|mask:1|>][<|mask:0|>]",
        "[<|endoftext|>]<| file ext=.java |>\n// src/A.java\nclass A {}\nint f() {\n    return[<|mask:0|>]\n}\n[<|mask:1|>][<|mask:0|>]",
    );
    check(
        "qwen2",
        "[<|fim_prefix|>]int f() {\n    return[<|fim_suffix|>]\n}\n[<|fim_middle|>]",
        "[<|file_sep|>]src/A.java\nclass A {}\n[<|file_sep|>][<|fim_prefix|>]int f() {\n    return[<|fim_suffix|>]\n}\n[<|fim_middle|>]",
    );
    check(
        "starcoder2",
        "[<fim_prefix>]int f() {\n    return[<fim_suffix>]\n}\n[<fim_middle>]",
        "[<file_sep>]src/A.java\nclass A {}\n[<file_sep>][<fim_prefix>]int f() {\n    return[<fim_suffix>]\n}\n[<fim_middle>]",
    );
    check(
        "starcoder",
        "[<fim_prefix>]int f() {\n    return[<fim_suffix>]\n}\n[<fim_middle>]",
        "[<filename>]src/A.java\nclass A {}\n[<fim_prefix>]int f() {\n    return[<fim_suffix>]\n}\n[<fim_middle>]",
    );
    check(
        "santacoder",
        "[<fim-prefix>]int f() {\n    return[<fim-suffix>]\n}\n[<fim-middle>]",
        "[<fim-prefix>]// src/A.java\nclass A {}\nint f() {\n    return[<fim-suffix>]\n}\n[<fim-middle>]",
    );
    check(
        "granite",
        "[<fim_prefix>]int f() {\n    return[<fim_suffix>]\n}\n[<fim_middle>]",
        "[<filename>]src/A.java\nclass A {}\n[<fim_prefix>]int f() {\n    return[<fim_suffix>]\n}\n[<fim_middle>]",
    );
    check(
        "mellum",
        "[<fim_suffix>]\n}\n[<fim_prefix>]int f() {\n    return[<fim_middle>]",
        "[<filename>]src/A.java\nclass A {}\n[<fim_suffix>]\n}\n[<fim_prefix>]int f() {\n    return[<fim_middle>]",
    );
    check(
        "codellama",
        "[<s>][\u{2581}<PRE>] int f() {\n    return[\u{2581}<SUF>]\n}\n[\u{2581}<MID>]",
        "[<s>][\u{2581}<PRE>] // src/A.java\nclass A {}\nint f() {\n    return[\u{2581}<SUF>]\n}\n[\u{2581}<MID>]",
    );
    check(
        "codestral",
        "[<s>][[SUFFIX]]\n}\n[[PREFIX]] int f() {\n    return",
        "[<s>][[SUFFIX]]\n}\n[[PREFIX]] +++++ src/A.java\nclass A {}\nint f() {\n    return",
    );
    check(
        "codegemma",
        "[<bos>][<|fim_prefix|>]int f() {\n    return[<|fim_suffix|>]\n}\n[<|fim_middle|>]",
        "[<bos>]src/A.java\nclass A {}\n[<|file_separator|>][<|fim_prefix|>]int f() {\n    return[<|fim_suffix|>]\n}\n[<|fim_middle|>]",
    );
    check(
        "deepseek",
        "[<\u{ff5c}begin\u{2581}of\u{2581}sentence\u{ff5c}>][<\u{ff5c}fim\u{2581}begin\u{ff5c}>]int f() {\n    return[<\u{ff5c}fim\u{2581}hole\u{ff5c}>]\n}\n[<\u{ff5c}fim\u{2581}end\u{ff5c}>]",
        "[<\u{ff5c}begin\u{2581}of\u{2581}sentence\u{ff5c}>][<\u{ff5c}fim\u{2581}begin\u{ff5c}>]#src/A.java\nclass A {}\nint f() {\n    return[<\u{ff5c}fim\u{2581}hole\u{ff5c}>]\n}\n[<\u{ff5c}fim\u{2581}end\u{ff5c}>]",
    );
}

/// One string of the authors' examples, by the library's own tokenizer with special tokens registered.
#[test]
fn ids_are_those_of_the_authors_examples() {
    let mut compared = 0;
    for entry in std::fs::read_dir(fixture("")).unwrap().map(Result::unwrap) {
        let Ok(file) = std::fs::read(entry.path().join("prompt.json")) else { continue };
        let expected: serde_json::Value = serde_json::from_slice(&file).unwrap();
        let name = entry.file_name().into_string().unwrap();
        let (prefix, suffix) = (expected["prefix"].as_str().unwrap(), expected["suffix"].as_str().unwrap());
        let prompt = open(&name, None).prompt(&PromptParts { context: vec![], prefix, suffix }).unwrap();
        let ids: Vec<u64> = prompt.ids.iter().map(|&id| id.into()).collect();
        assert_eq!(expected["ids"], serde_json::json!(ids), "{name}");
        compared += 1;
    }
    assert_eq!(compared, 10);
}

#[test]
fn codet5s_hole_swallows_the_space_before_it() {
    let model = open("codet5", None);
    let prompt =
        model.prompt(&PromptParts { context: vec![], prefix: "int f() {\n    ", suffix: SUFFIX }).unwrap();
    assert_eq!(
        spelt(model.as_ref(), &fixture("codet5"), &prompt.ids),
        "[<s>]int f() {[<extra_id_0>]\n}\n[</s>]"
    );
}

/// A hole in a file of so many lines before and after it; tokens of the prompt, and those kept of the two sides.
fn check_cut(
    name: &str,
    lines: (usize, usize),
    context: Vec<(&str, &str)>,
    budget: Option<PromptBudget>,
    expected: (usize, usize, usize),
) {
    let model = open(name, budget);
    let (prefix, suffix) = ("int a;\n".repeat(lines.0), "\nint b;".repeat(lines.1));
    let (prefix, suffix) = (prefix.trim_end(), suffix.as_str());
    let prompt = model.prompt(&PromptParts { context, prefix, suffix }).unwrap();
    let n = |text: &str| model.encode(text).unwrap().len();
    let kept = (n(prefix) - prompt.prefix_cut, n(suffix) - prompt.suffix_cut);
    assert_eq!((prompt.ids.len(), kept.0, kept.1), expected, "{name}");
    // What is kept is next to the hole.
    let text = spelt(model.as_ref(), &fixture(name), &prompt.ids);
    assert!(text.contains("a;\nint a;") && text.contains("\nint b;\nint"), "{text}");
}

#[test]
fn codet5_is_cut_to_512_tokens_around_the_hole() {
    // 256 tokens each; the sentinel counts with the suffix, and start and end are cut off with the text.
    check_cut("codet5", (400, 400), vec![], None, (512, 256, 255));
    // What one side does not need goes to the other.
    check_cut("codet5", (5, 400), vec![], None, (512, 19, 491));
    check_cut("codet5", (400, 5), vec![], None, (512, 490, 20));
    // A chunk takes its room from both, and stands after the start.
    check_cut("codet5", (400, 400), vec![("A.java:1-1", "int c;")], None, (512, 248, 247));
}

#[test]
fn a_decoder_leaves_room_for_the_hole() {
    // Its window of 400 is shared with what is written.
    for name in ["incoder", "mellum"] {
        let model = open(name, None);
        let long = "int a;\n".repeat(400);
        let prompt = model.prompt(&PromptParts { context: vec![], prefix: &long, suffix: &long }).unwrap();
        assert!((190..=200).contains(&prompt.ids.len()), "{name}: {}", prompt.ids.len());
    }
}

#[test]
fn a_budget_bounds_each_part() {
    let budget = PromptBudget { prefix: 50, suffix: 20, context: 30 };
    check_cut("qwen2", (400, 400), vec![], Some(budget), (73, 50, 20));
    let model = open("qwen2", Some(budget));
    let chunks = vec![
        ("A.java:1-9", "int a; int b; int c; int d; int e; int f; int g; int h;"),
        ("B.java:1-1", "int b;"),
    ];
    let prompt = model.prompt(&PromptParts { context: chunks, prefix: PREFIX, suffix: SUFFIX }).unwrap();
    assert_eq!(prompt.context, ["B.java:1-1"]);
}

/// What is farther from the hole goes first: the prefix's start, the suffix's end.
#[test]
fn each_family_keeps_what_is_next_to_the_hole() {
    let budget = PromptBudget { prefix: 8, suffix: 6, context: 0 };
    let cut = |name: &str| {
        let model = open(name, Some(budget));
        let parts = PromptParts {
            context: vec![],
            prefix: "int a;\nint b;\nint c",
            suffix: "\nint d;\nint e;\nint f;",
        };
        let prompt = model.prompt(&parts).unwrap();
        assert!(prompt.prefix_cut > 0 && prompt.suffix_cut > 0, "{name}");
        spelt(model.as_ref(), &fixture(name), &prompt.ids)
    };
    let expected = [
        ("codet5", "\nint b;\nint c[<extra_id_0>]\nint d;\n"),
        (
            "incoder",
            "[<|endoftext|>]<| file ext=.java |>\n\nint b;\nint c[<|mask:0|>]\nint d;\n[<|mask:1|>][<|mask:0|>]",
        ),
        ("qwen2", "[<|fim_prefix|>]\nint b;\nint c[<|fim_suffix|>]\nint d;\n[<|fim_middle|>]"),
        ("starcoder2", "[<fim_prefix>]\nint b;\nint c[<fim_suffix>]\nint d;\n[<fim_middle>]"),
        ("starcoder", "[<fim_prefix>]\nint b;\nint c[<fim_suffix>]\nint d;\n[<fim_middle>]"),
        ("santacoder", "[<fim-prefix>]\nint b;\nint c[<fim-suffix>]\nint d;\n[<fim-middle>]"),
        ("granite", "[<fim_prefix>]\nint b;\nint c[<fim_suffix>]\nint d;\n[<fim_middle>]"),
        ("mellum", "[<fim_suffix>]\nint d;\n[<fim_prefix>]\nint b;\nint c[<fim_middle>]"),
        ("codellama", "[<s>][▁<PRE>]int b;\nint c[▁<SUF>]\nint d;\n[▁<MID>]"),
        ("codestral", "[<s>][[SUFFIX]]\nint d;\n[[PREFIX]]int b;\nint c"),
        ("codegemma", "[<bos>][<|fim_prefix|>]int b;\nint c[<|fim_suffix|>]\nint d;\n[<|fim_middle|>]"),
        (
            "deepseek",
            "[<｜begin▁of▁sentence｜>][<｜fim▁begin｜>]\nint b;\nint c[<｜fim▁hole｜>]\nint d;\n[<｜fim▁end｜>]",
        ),
    ];
    for (name, prompt) in expected {
        assert_eq!(cut(name), prompt, "{name}");
    }
}

/// The ids are those that transformers 5.24 gives with the same files, without start and end.
#[test]
fn codet5s_own_vocabulary_spells_text_as_the_library_does() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/codet5-tokenizer");
    if !dir.is_dir() {
        eprintln!("skipped: CodeT5's tokenizer is not in {}", dir.display());
        return;
    }
    let tokenizer = load_tokenizer(&dir).unwrap();
    let check = |text: &str, ids: &[TokenId]| assert_eq!(tokenizer.encode(text).unwrap(), ids, "{text:?}");
    check(PREFIX, &[474, 284, 1435, 288, 203, 565, 327]);
    check(SUFFIX, &[203, 97, 203]);
    check(
        "\n        if (größe == null) {\n            return \"x\\u0041\";\n        }",
        &[
            203, 3639, 309, 261, 3197, 132, 119, 132, 258, 73, 422, 446, 13, 288, 203, 5411, 327, 315, 92,
            64, 89, 713, 9803, 14432, 203, 3639, 289,
        ],
    );
}
