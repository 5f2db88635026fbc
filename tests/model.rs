//! The default model on its real weights. Without them (`scripts/setup.sh` brings them) every test here says that it was
//! skipped.

use std::path::PathBuf;
use std::time::Instant;

use repair::model::{HoleEnd, KvNode, LoadOptions, Model, PromptParts, Row, load};
use repair::token::TokenId;

/// Logits of the same position computed in different company.
const TOLERANCE: f32 = 1e-4;

const GCD: &str =
    "package a;\n\nclass Numbers {\n    /** Greatest common divisor. */\n    static int gcd(int a, int b) {";

#[expect(clippy::disallowed_methods, reason = "tests find the cache like the scripts do")]
fn weights() -> Option<PathBuf> {
    let under = |variable: &str, rest: &str| Some(PathBuf::from(std::env::var_os(variable)?).join(rest));
    let cache = under("REPAIR_HOME", "").or_else(|| under("XDG_CACHE_HOME", "repair"));
    let cache = cache.or_else(|| under("HOME", ".cache/repair"))?;
    let file = cache.join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
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

fn prime(model: &mut dyn Model, prefix: &str) -> Vec<f32> {
    let suffix = "\n    }\n}\n";
    let prompt = model.prompt(&PromptParts { context: vec![], prefix, suffix }).unwrap();
    model.prime(&prompt.ids).unwrap()
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Steps, tokens per second: one prompt, then batches of different widths. Run with `--ignored --nocapture`.
#[test]
#[ignore = "prints figures; nothing to fail"]
fn figures() {
    for threads in [1, 2] {
        let start = Instant::now();
        let options = LoadOptions { threads: Some(threads), ..LoadOptions::default() };
        let Some(mut model) = model(options) else { return };
        println!("{threads} threads: load {:.2} s", start.elapsed().as_secs_f64());
        let prompt: Vec<TokenId> = (0..256).map(|i| 1000 + 37 * i).collect();
        let start = Instant::now();
        model.prime(&prompt).unwrap();
        println!("  prompt of 256: {:.0} tok/s", 256.0 / start.elapsed().as_secs_f64());
        for width in [1, 8, 32, 64] {
            let steps = 16;
            let mut parents = vec![KvNode::PROMPT; width];
            let start = Instant::now();
            for step in 0..steps {
                let rows: Vec<Row> =
                    parents.iter().zip(0..).map(|(&parent, i)| row(parent, &[2000 + 17 * i + step])).collect();
                parents = model.extend(&rows).unwrap().iter().map(|row| row[0].node).collect();
            }
            let n = f64::from(steps) * width as f64;
            println!("  batch {width}: {:.1} tok/s", n / start.elapsed().as_secs_f64());
        }
    }
}
