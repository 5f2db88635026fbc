//! Plausible patches as SARIF 2.1.0, for editors and code review: a result for each bug, its patches as fixes.

use serde_json::{Value, json};

use super::unit::{SampleLine, Unit};

/// The one rule.
const RULE: &str = "plausible-patch";

/// All units that have a plausible patch. Paths are relative to the project's root.
pub fn sarif(units: &[Unit]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "repair",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": [{
                    "id": RULE,
                    "shortDescription": { "text": "A failing test has a patch that passes all tests" },
                    "fullDescription": { "text": "Every fix compiles, mends the failing test and breaks no other. \
                        Whether it is correct is for a person to say." },
                    "defaultConfiguration": { "level": "note" }
                }]
            } },
            "columnKind": "utf16CodeUnits",
            "results": units.iter().filter_map(result).collect::<Vec<_>>()
        }]
    })
}

fn result(unit: &Unit) -> Option<Value> {
    let patches = unit.ranking();
    let inputs = &unit.manifest["inputs"];
    let (uri, region) = (inputs["file"].as_str()?.replace('\\', "/"), Region::of(&inputs["lines"])?);
    if patches.is_empty() {
        return None;
    }
    let tests: Vec<&str> =
        inputs["tests"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let n = patches.len();
    Some(json!({
        "ruleId": RULE,
        "level": "note",
        "message": { "text": format!(
            "{}: {n} plausible {} for the failing {}",
            unit.bug,
            if n == 1 { "patch" } else { "patches" },
            tests.join(", ")
        ) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri },
            "region": { "startLine": region.first, "endLine": region.last.max(region.first) }
        } }],
        "properties": { "variant": unit.variant, "seed": unit.seed },
        "fixes": patches.iter().map(|line| fix(line, &uri, &region)).collect::<Vec<_>>()
    }))
}

fn fix(line: &SampleLine, uri: &str, region: &Region) -> Value {
    // A fill begins with the newline before the hole, but in the first line of a file.
    let lines = line.fill.strip_prefix('\n').unwrap_or(&line.fill);
    let text = if line.fill.is_empty() { String::new() } else { format!("{lines}\n") };
    json!({
        "description": { "text": format!("Sample {}, ln p {:.2}", line.index, line.log_p) },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri },
            "replacements": [{
                "deletedRegion": {
                    "startLine": region.first, "startColumn": 1, "endLine": region.last + 1, "endColumn": 1
                },
                "insertedContent": { "text": text }
            }]
        }]
    })
}

/// Whole lines; `last` is `first - 1` for an insertion.
struct Region {
    first: u64,
    last: u64,
}

impl Region {
    fn of(lines: &Value) -> Option<Self> {
        let replaced = &lines["replace"];
        if let (Some(first), Some(last)) = (replaced["first"].as_u64(), replaced["last"].as_u64()) {
            return Some(Self { first, last });
        }
        let before = lines["insert"]["before"].as_u64()?;
        Some(Self { first: before, last: before.saturating_sub(1) })
    }
}
