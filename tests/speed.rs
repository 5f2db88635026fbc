//! Speeds of models, printed by `scripts/reference-logits/speed.sh`; nothing here can fail but the loading.

use std::path::PathBuf;
use std::time::Instant;

use repair::model::{KvNode, LoadOptions, PromptBudget, Row, load};
use repair::token::TokenId;

/// User and system time of this process in seconds; the machine that runs tests is shared, so walls say little.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).map(|t| t.parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

#[expect(clippy::disallowed_methods, reason = "which models are measured is told by the environment alone")]
fn words(name: &str) -> Vec<String> {
    std::env::var(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Tokens per second of processor time: a prompt, then batches of different widths. `FIGURES_MODELS` names the weights,
/// `FIGURES_THREADS` the numbers of threads.
#[test]
#[ignore = "prints figures; nothing to fail"]
fn figures() {
    let threads: Vec<usize> = words("FIGURES_THREADS").iter().map(|n| n.parse().unwrap()).collect();
    for path in words("FIGURES_MODELS").iter().map(PathBuf::from) {
        for &threads in if threads.is_empty() { &[1][..] } else { &threads } {
            measure_model(&path, threads);
        }
    }
}

fn measure_model(path: &std::path::Path, threads: usize) {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let measure = |n: usize, what: &str, work: &mut dyn FnMut()| {
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        work();
        let (cpu, wall) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
        println!(
            "{name}, {threads} threads, {what}: {:.1} per cpu-s, {:.1} per s",
            n as f64 / cpu,
            n as f64 / wall
        );
    };
    let budget = Some(PromptBudget::default());
    let mut model =
        load(path, LoadOptions { threads: Some(threads), budget, ..LoadOptions::default() }).unwrap();
    let prompt: Vec<TokenId> = (0..256).map(|i| 1000 + 37 * i).collect();
    measure(256, "prompt of 256", &mut || drop(model.prime(&prompt).unwrap()));
    for width in [1, 8, 32, 64] {
        let steps = 16;
        let mut parents = vec![KvNode::PROMPT; width];
        measure(steps * width, &format!("batch {width}"), &mut || {
            for step in 0..steps as u32 {
                let rows = parents
                    .iter()
                    .zip(0..)
                    .map(|(&parent, i)| Row { parent, tokens: vec![2000 + 17 * i + step] });
                let rows: Vec<Row> = rows.collect();
                parents = model.extend(&rows).unwrap().iter().map(|row| row[0].node).collect();
            }
        });
    }
}
