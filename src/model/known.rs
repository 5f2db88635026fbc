//! Models that this program is made for, with what a user has to know before taking one.

/// A model of the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Short name for the command line.
    pub name: &'static str,
    /// Its name on the hub.
    pub id: &'static str,
    /// Parameters in millions, as its authors round them.
    pub millions: u32,
    /// Licence of the weights as the authors name it.
    pub licence: &'static str,
    /// Whether the licence keeps commercial use out.
    pub non_commercial: bool,
}

const fn model(name: &'static str, id: &'static str, millions: u32, licence: &'static str) -> Known {
    Known { name, id, millions, licence, non_commercial: false }
}

const fn non_commercial(name: &'static str, id: &'static str, millions: u32, licence: &'static str) -> Known {
    Known { non_commercial: true, ..model(name, id, millions, licence) }
}

const OPENRAIL: &str = "BigCode OpenRAIL-M";

/// All of them, by family.
pub const KNOWN: [Known; 28] = [
    model("codet5-small", "Salesforce/codet5-small", 60, "Apache-2.0"),
    model("codet5-base", "Salesforce/codet5-base", 220, "Apache-2.0"),
    model("codet5-large", "Salesforce/codet5-large", 770, "BSD-3-Clause"),
    model("codet5p-220m", "Salesforce/codet5p-220m", 220, "BSD-3-Clause"),
    model("codet5p-770m", "Salesforce/codet5p-770m", 770, "BSD-3-Clause"),
    non_commercial("incoder-1b", "facebook/incoder-1B", 1300, "CC-BY-NC-4.0"),
    non_commercial("incoder-6b", "facebook/incoder-6B", 6700, "CC-BY-NC-4.0"),
    model("qwen2.5-coder-0.5b", "Qwen/Qwen2.5-Coder-0.5B", 500, "Apache-2.0"),
    model("qwen2.5-coder-1.5b", "Qwen/Qwen2.5-Coder-1.5B", 1500, "Apache-2.0"),
    non_commercial("qwen2.5-coder-3b", "Qwen/Qwen2.5-Coder-3B", 3000, "Qwen Research"),
    model("qwen2.5-coder-7b", "Qwen/Qwen2.5-Coder-7B", 7000, "Apache-2.0"),
    model("qwen2.5-coder-14b", "Qwen/Qwen2.5-Coder-14B", 14_000, "Apache-2.0"),
    model("qwen2.5-coder-32b", "Qwen/Qwen2.5-Coder-32B", 32_000, "Apache-2.0"),
    model("starcoder2-3b", "bigcode/starcoder2-3b", 3000, OPENRAIL),
    model("starcoder2-7b", "bigcode/starcoder2-7b", 7000, OPENRAIL),
    model("starcoder2-15b", "bigcode/starcoder2-15b", 15_000, OPENRAIL),
    model("starcoderbase-1b", "bigcode/starcoderbase-1b", 1000, OPENRAIL),
    model("santacoder", "bigcode/gpt_bigcode-santacoder", 1100, OPENRAIL),
    model("deepseek-coder-1.3b", "deepseek-ai/deepseek-coder-1.3b-base", 1300, "DeepSeek"),
    model("deepseek-coder-6.7b", "deepseek-ai/deepseek-coder-6.7b-base", 6700, "DeepSeek"),
    model("codellama-7b", "codellama/CodeLlama-7b-hf", 7000, "Llama 2"),
    model("codellama-13b", "codellama/CodeLlama-13b-hf", 13_000, "Llama 2"),
    model("codegemma-2b", "google/codegemma-2b", 2000, "Gemma"),
    model("codegemma-7b", "google/codegemma-7b", 7000, "Gemma"),
    model("granite-code-3b", "ibm-granite/granite-3b-code-base-2k", 3000, "Apache-2.0"),
    model("granite-code-8b", "ibm-granite/granite-8b-code-base-4k", 8000, "Apache-2.0"),
    non_commercial("codestral-22b", "mistralai/Codestral-22B-v0.1", 22_000, "Mistral Non-Production"),
    model("mellum-4b", "JetBrains/Mellum-4b-base", 4000, "Apache-2.0"),
];

impl Known {
    /// By its short name or by its name on the hub.
    pub fn find(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name || known.id == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for known in &KNOWN {
            assert_eq!(Known::find(known.name), Some(known));
            assert_eq!(Known::find(known.id), Some(known));
        }
        assert_eq!(Known::find("codet5"), None);
    }
}
