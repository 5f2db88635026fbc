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

/// User and system time of this process in seconds; the machine that runs tests is shared, so walls say little.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).map(|t| t.parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

/// Tokens per second of processor time: one prompt, then batches of different widths. Run with `--ignored --nocapture`.
#[test]
#[ignore = "prints figures; nothing to fail"]
fn figures() {
    let measure = |n: usize, what: &str, work: &mut dyn FnMut()| {
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        work();
        let (cpu, wall) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
        println!("  {what}: {:.1} per cpu-s, {:.1} per s", n as f64 / cpu, n as f64 / wall);
    };
    for threads in [1] {
        println!("{threads} threads");
        let mut loaded = None;
        let options = LoadOptions { threads: Some(threads), ..LoadOptions::default() };
        measure(1, "loads", &mut || loaded = model(options));
        let Some(mut model) = loaded else { return };
        let prompt: Vec<TokenId> = (0..256).map(|i| 1000 + 37 * i).collect();
        measure(256, "prompt of 256", &mut || drop(model.prime(&prompt).unwrap()));
        for width in [1, 8, 32, 64] {
            let steps = 16;
            let mut parents = vec![KvNode::PROMPT; width];
            measure(steps * width, &format!("batch {width}"), &mut || {
                for step in 0..steps as u32 {
                    let rows = parents.iter().zip(0..).map(|(&parent, i)| row(parent, &[2000 + 17 * i + step]));
                    let rows: Vec<Row> = rows.collect();
                    parents = model.extend(&rows).unwrap().iter().map(|row| row[0].node).collect();
                }
            });
        }
    }
}
