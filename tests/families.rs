//! Every family against transformers: tiny random checkpoints with reference logits, both made by
//! `scripts/reference-logits/run.sh`.

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use repair::model::{HoleEnd, KvNode, LoadOptions, Model, PromptParts, Row, load};
use repair::token::TokenId;

/// Logits of at most 25; two ways to the same one are 1e-5 apart in transformers itself.
const TOLERANCE: f32 = 1e-4;
/// Tokens that all sequences begin with.
const PREFIX: usize = 20;
/// Where the second sequence leaves the first.
const FORK: usize = 60;

const FAMILIES: [&str; 13] = [
    "codet5",
    "t5-gated",
    "incoder",
    "qwen2",
    "starcoder2",
    "starcoder",
    "santacoder",
    "deepseek",
    "granite",
    "mellum",
    "codellama",
    "codestral",
    "codegemma",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

fn open(name: &str, kv_bytes: usize) -> Box<dyn Model + Send> {
    let options = LoadOptions { threads: Some(1), kv_bytes, ..LoadOptions::default() };
    load(&fixture(name), options).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// What transformers computed.
struct Reference {
    sequences: Vec<Vec<TokenId>>,
    /// Of an encoder; one per sequence.
    prompts: Vec<Vec<TokenId>>,
    logits: Vec<((usize, usize), Vec<f32>)>,
    /// Tokens that a decoder begins with by itself.
    start: usize,
}

impl Reference {
    fn read(name: &str) -> Self {
        let tensors =
            candle_core::safetensors::load(fixture(name).join("reference.safetensors"), &Device::Cpu)
                .unwrap();
        let rows = |name: &str| -> Vec<Vec<u32>> {
            let ids: Vec<Vec<i32>> = tensors[name].to_vec2().unwrap();
            ids.into_iter().map(|row| row.into_iter().map(|id| id as u32).collect()).collect()
        };
        let lengths: Vec<i32> = tensors["lengths"].to_vec1().unwrap();
        let mut sequences = rows("ids");
        sequences.iter_mut().zip(&lengths).for_each(|(ids, &length)| ids.truncate(length as usize));
        let places = rows("places").into_iter().map(|place| (place[0] as usize, place[1] as usize));
        let prompts = rows("prompts");
        let is_encoder_decoder = prompts.len() == 2;
        let prompts = if is_encoder_decoder {
            // The second was padded with zeros.
            vec![prompts[0].clone(), prompts[0].clone(), prompts[1][..70].to_vec()]
        } else {
            vec![]
        };
        let logits = places.zip(tensors["logits"].to_vec2().unwrap()).collect();
        Self { sequences, prompts, logits, start: if is_encoder_decoder { 2 } else { PREFIX } }
    }

    /// The prompt that a sequence is computed after.
    fn prompt(&self, row: usize) -> &[TokenId] {
        self.prompts.get(row).map_or(&self.sequences[row][..PREFIX], Vec::as_slice)
    }

    /// Tokens of a sequence that are appended, up to one of its positions.
    fn appended(&self, row: usize, end: usize) -> &[TokenId] {
        &self.sequences[row][self.start..end]
    }

    /// Holds logits after the token at a position of a sequence against those of transformers, where they are kept.
    fn check(&self, how: &str, row: usize, position: usize, found: &[f32]) -> bool {
        let Some((_, expected)) = self.logits.iter().find(|(place, _)| *place == (row, position)) else {
            return false;
        };
        assert_eq!(found.len(), expected.len(), "{how}");
        let furthest = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(furthest <= TOLERANCE, "{how}: {furthest} off at {position} of sequence {row}");
        true
    }
}

fn row(parent: KvNode, tokens: &[TokenId]) -> Row {
    Row { parent, tokens: tokens.to_vec() }
}

/// All sequences that belong to one prompt in one step, of different lengths; the nodes of the first.
fn whole(name: &str, model: &mut dyn Model, reference: &Reference) -> Vec<KvNode> {
    let mut checked = 0;
    let rows_of = |prompt: &[TokenId]| -> Vec<usize> {
        (0..3).filter(|&row| reference.prompt(row) == prompt).collect()
    };
    let primed = model.prime(reference.prompt(0)).unwrap();
    checked += usize::from(reference.check(name, 0, reference.start - 1, &primed));
    let mine = rows_of(reference.prompt(0));
    let rows: Vec<Row> = mine
        .iter()
        .map(|&i| row(KvNode::PROMPT, reference.appended(i, reference.sequences[i].len())))
        .collect();
    let found = model.extend(&rows).unwrap();
    for (&i, positions) in mine.iter().zip(&found) {
        for (j, position) in positions.iter().enumerate() {
            checked += usize::from(reference.check(name, i, reference.start + j, &position.logits));
        }
    }
    assert!(checked >= 24, "{name}: only {checked} positions were compared");
    found[0].iter().map(|position| position.node).collect()
}

#[test]
fn sequences_of_different_lengths_agree_whole() {
    for name in FAMILIES {
        whole(name, open(name, 1 << 24).as_mut(), &Reference::read(name));
    }
}

#[test]
fn a_sequence_agrees_token_by_token() {
    for name in FAMILIES {
        let (mut model, reference) = (open(name, 1 << 24), Reference::read(name));
        model.prime(reference.prompt(0)).unwrap();
        let mut parent = KvNode::PROMPT;
        let mut checked = 0;
        for (position, token) in reference.sequences[0].iter().enumerate().skip(reference.start) {
            let appended = model.extend(&[row(parent, &[*token])]).unwrap().remove(0).remove(0);
            checked += usize::from(reference.check(name, 0, position, &appended.logits));
            parent = appended.node;
        }
        assert!(checked >= 13, "{name}: {checked}");
    }
}

#[test]
fn a_sequence_that_is_cut_and_continued_otherwise_agrees() {
    for name in FAMILIES {
        let (mut model, reference) = (open(name, 1 << 24), Reference::read(name));
        let nodes = whole(name, model.as_mut(), &reference);
        // The second sequence shares what the first has up to here.
        let parent = nodes[FORK - 1 - reference.start];
        let rest = &reference.sequences[1][FORK..];
        let found = model.extend(&[row(parent, rest), row(parent, &rest[..1])]).unwrap();
        let mut checked = 0;
        for (j, position) in found[0].iter().enumerate() {
            checked += usize::from(reference.check(name, 1, FORK + j, &position.logits));
        }
        reference.check(name, 1, FORK, &found[1][0].logits);
        assert!(checked >= 3, "{name}: {checked}");
    }
}

#[test]
fn another_prompt_agrees_after_the_first() {
    for name in FAMILIES {
        let (mut model, reference) = (open(name, 1 << 24), Reference::read(name));
        whole(name, model.as_mut(), &reference);
        model.prime(reference.prompt(2)).unwrap();
        let end = reference.sequences[2].len();
        let found = model.extend(&[row(KvNode::PROMPT, reference.appended(2, end))]).unwrap();
        for (j, position) in found[0].iter().enumerate() {
            reference.check(name, 2, reference.start + j, &position.logits);
        }
    }
}

#[test]
fn positions_that_were_evicted_agree() {
    for name in FAMILIES {
        let reference = Reference::read(name);
        // Room for some of the 130 positions only.
        let mut model = open(name, 40 * 2 * 2 * 4 * 12 * 4);
        model.prime(reference.prompt(0)).unwrap();
        let mut parents = [KvNode::PROMPT; 2];
        for start in (reference.start..90).step_by(10) {
            for (i, parent) in parents.iter_mut().enumerate() {
                let end = (start + 10).min(90);
                let found =
                    model.extend(&[row(*parent, &reference.sequences[i][start..end])]).unwrap().remove(0);
                for (j, position) in found.iter().enumerate() {
                    reference.check(name, i, start + j, &position.logits);
                }
                *parent = found.last().unwrap().node;
            }
        }
    }
}

#[test]
fn a_perturbed_weight_shows() {
    let reference = Reference::read("codet5");
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture("codet5")).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    let tensors = candle_core::pickle::read_all(dir.path().join("pytorch_model.bin")).unwrap();
    let changed = tensors.into_iter().map(|(name, tensor)| {
        let is_bias = name.starts_with("decoder") && name.ends_with("relative_attention_bias.weight");
        let tensor: Tensor = if is_bias { (tensor * 1.01).unwrap() } else { tensor };
        (name, tensor)
    });
    candle_core::safetensors::save(&changed.collect(), dir.path().join("model.safetensors")).unwrap();
    let mut model = load(dir.path(), LoadOptions { threads: Some(1), ..LoadOptions::default() }).unwrap();
    model.prime(reference.prompt(0)).unwrap();
    let found = model.extend(&[row(KvNode::PROMPT, reference.appended(0, 130))]).unwrap();
    let (_, expected) = reference.logits.iter().find(|(place, _)| *place == (0, 129)).unwrap();
    let last = &found[0].last().unwrap().logits;
    let furthest = last.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(furthest > 2.0 * TOLERANCE, "{furthest}");
}

#[test]
fn every_family_spells_java_byte_for_byte() {
    for name in FAMILIES {
        let model = open(name, 1 << 20);
        for text in [
            "public class A {\n    private int x = 12345;\n}\n",
            "\tif (a\t== b) {\r\n\t\treturn 0x1F;\r\n\t}\r\n",
            "String s = \"\u{e4}\u{4e2d} e\u{301} \u{1f469}\u{200d}\u{1f680}\";",
            "  leading and trailing  ",
            " <s> <mask> <|endoftext|> </s><extra_id_0> [SUFFIX]",
            "\u{2581}<PRE>",
            "",
        ] {
            let is_pieces = ["codellama", "codestral", "codegemma"].contains(&name);
            if is_pieces && text.contains('\u{2581}') {
                // U+2581 is how these vocabularies spell a space: it cannot be told from one.
                continue;
            }
            let ids = model.encode(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(model.vocabulary().join(&ids), text.as_bytes(), "{name}: {text:?}");
        }
    }
}

#[test]
fn every_family_knows_its_end() {
    for name in FAMILIES {
        let model = open(name, 1 << 20);
        let HoleEnd::Tokens(ends) = model.hole_end() else { panic!("{name} does not infill") };
        assert!(
            !ends.is_empty() && ends.iter().all(|&end| model.vocabulary().bytes(end).is_none()),
            "{name}"
        );
        let parts = PromptParts { context: vec![], prefix: "int f() {", suffix: "\n}\n" };
        let prompt = model.prompt(&parts).unwrap();
        assert_eq!((prompt.prefix_cut, prompt.suffix_cut), (0, 0));
        let text = String::from_utf8(model.vocabulary().join(&prompt.ids)).unwrap();
        assert!(text.contains("int f() {") && text.contains("\n}\n"), "{name}: {text:?}");
    }
}
