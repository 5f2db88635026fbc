//! Which of a model's files are needed.

use std::path::Path;

/// Files of a checkpoint besides its weights: the configuration, and what a tokenizer may be made of.
const SMALL: [&str; 6] = [
    "config.json",
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
];

/// Files to fetch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// One file holds everything.
    Gguf(String),
    /// A directory.
    Checkpoint { small: Vec<String>, index: Option<String>, weights: Vec<String> },
}

/// The files to fetch of those there are: the one GGUF file that a variant names, else a checkpoint, else the only GGUF
/// file. Safetensors go before pickles.
pub(super) fn choose(names: &[String], variant: Option<&str>) -> Option<Choice> {
    let ggufs: Vec<&String> = names.iter().filter(|name| is_gguf(name)).collect();
    let has = |name: &str| names.iter().any(|other| other == name);
    if let Some(variant) = variant {
        let variant = variant.to_lowercase();
        let mut matching = ggufs.iter().filter(|name| name.to_lowercase().contains(&variant));
        return matching.next().filter(|_| matching.next().is_none()).map(|&name| Choice::Gguf(name.clone()));
    }
    if !has("config.json") || !names.iter().any(|name| is_weights(name)) {
        return if let [one] = ggufs[..] { Some(Choice::Gguf(one.clone())) } else { None };
    }
    let small = SMALL.iter().filter(|name| has(name)).map(|&name| name.to_owned()).collect();
    for (single, index) in [
        ("model.safetensors", "model.safetensors.index.json"),
        ("pytorch_model.bin", "pytorch_model.bin.index.json"),
    ] {
        if has(single) {
            return Some(Choice::Checkpoint { small, index: None, weights: vec![single.to_owned()] });
        }
        if has(index) {
            let (stem, extension) = single.split_once('.')?;
            let is_part = |name: &&String| name.starts_with(&format!("{stem}-")) && name.ends_with(extension);
            let weights = names.iter().filter(is_part).cloned().collect();
            return Some(Choice::Checkpoint { small, index: Some(index.to_owned()), weights });
        }
    }
    None
}

fn is_gguf(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "gguf")
}

fn is_weights(name: &str) -> bool {
    ["model.safetensors", "pytorch_model.bin"]
        .iter()
        .any(|weights| name == *weights || name.strip_suffix(".index.json") == Some(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], variant: Option<&str>, expected: &str) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let files = match choose(&names, variant) {
            None => "none".to_owned(),
            Some(Choice::Gguf(file)) => file,
            Some(Choice::Checkpoint { small, index, weights }) => {
                small.into_iter().chain(index).chain(weights).collect::<Vec<_>>().join(" ")
            }
        };
        assert_eq!(files, expected);
    }

    #[test]
    fn safetensors_go_before_pickles() {
        check(
            &[
                "README.md",
                "config.json",
                "merges.txt",
                "model.safetensors",
                "pytorch_model.bin",
                "vocab.json",
            ],
            None,
            "config.json vocab.json merges.txt model.safetensors",
        );
        check(
            &["config.json", "pytorch_model.bin", "flax_model.msgpack"],
            None,
            "config.json pytorch_model.bin",
        );
    }

    #[test]
    fn all_parts_of_an_index_are_fetched() {
        check(
            &[
                "config.json",
                "model-00001-of-00002.safetensors",
                "model-00002-of-00002.safetensors",
                "model.safetensors.index.json",
                "tokenizer.json",
            ],
            None,
            "config.json tokenizer.json model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors",
        );
    }

    #[test]
    fn a_variant_names_one_gguf_file() {
        let files = ["a-Q4_K_M.gguf", "a-Q8_0.gguf", "config.json"];
        check(&files, Some("q4_k_m"), "a-Q4_K_M.gguf");
        check(&files, Some("Q"), "none");
        check(&files, None, "none");
        check(&files[..1], None, "a-Q4_K_M.gguf");
    }
}
