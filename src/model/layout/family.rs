//! The families that were trained to infill: their special tokens, in the order and with the meaning that their authors
//! give them. Which family a model belongs to is told by its architecture and by the tokens that it has, never by a name.

use super::super::tokenizer::Tokenizer;

/// Which part of the file stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    PrefixFirst,
    SuffixFirst,
}

/// How retrieved chunks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// As text before the prefix: this, the path, a newline, the chunk, a newline.
    Text(&'static str),
    /// Before everything, the path and the chunk after one special token each; the token stands once more before the
    /// file itself where `again`.
    After { token: &'static str, again: bool },
    /// Before everything, one special token after each.
    Before(&'static str),
}

/// One family's layout.
#[derive(Debug)]
pub(super) struct Family {
    /// Always there, at the very start.
    pub(super) start: &'static [&'static str],
    /// Around the file's text, and cut off with it.
    pub(super) ends: (Option<&'static str>, Option<&'static str>),
    /// Before the first part of the file.
    pub(super) head: &'static [&'static str],
    /// Text before the first part of the file.
    pub(super) header: &'static str,
    pub(super) order: Order,
    /// Between the two parts.
    pub(super) between: &'static str,
    /// After the second part.
    pub(super) tail: &'static [&'static str],
    /// Tokens that end the hole; the first must be there.
    pub(super) stops: &'static [&'static str],
    /// What the decoder begins with where an encoder reads the prompt.
    pub(super) decoder_start: &'static [&'static str],
    pub(super) chunks: Chunks,
    /// Most tokens of the prompt.
    pub(super) limit: usize,
    /// The tokenizer puts a space before a text that is not a continuation.
    pub(super) space_in_front: bool,
    /// White space before the hole is not seen: its sentinel swallows it.
    pub(super) swallows_space: bool,
}

/// Prompt tokens of the decoder-only families, chosen: they see much more, but a processor takes a second for some 300
/// tokens of a model of a billion parameters.
const LIMIT: usize = 2048;

const PLAIN: Family = Family {
    start: &[],
    ends: (None, None),
    head: &[],
    header: "",
    order: Order::PrefixFirst,
    between: "",
    tail: &[],
    stops: &[],
    decoder_start: &[],
    chunks: Chunks::Text("// "),
    limit: LIMIT,
    space_in_front: false,
    swallows_space: false,
};

/// Repilot's layout and limits; the hole's sentinel is registered with `lstrip`.
const CODET5: Family = Family {
    ends: (Some("<s>"), Some("</s>")),
    between: "<extra_id_0>",
    stops: &["<extra_id_1>", "</s>"],
    decoder_start: &["<extra_id_0>"],
    limit: 512,
    swallows_space: true,
    ..PLAIN
};

/// The model card's infilling example, with Repilot's limit.
const INCODER: Family = Family {
    start: &["<|endoftext|>"],
    header: "<| file ext=.java |>\n",
    between: "<|mask:0|>",
    tail: &["<|mask:1|>", "<|mask:0|>"],
    stops: &["<|endofmask|>", "<|endoftext|>"],
    limit: 1500,
    ..PLAIN
};

/// Qwen2.5-Coder's README, with the ids that it says end a completion.
const QWEN: Family = Family {
    head: &["<|fim_prefix|>"],
    between: "<|fim_suffix|>",
    tail: &["<|fim_middle|>"],
    stops: &[
        "<|endoftext|>",
        "<|fim_prefix|>",
        "<|fim_suffix|>",
        "<|fim_middle|>",
        "<|fim_pad|>",
        "<|repo_name|>",
        "<|file_sep|>",
        "<|im_start|>",
        "<|im_end|>",
    ],
    chunks: Chunks::After { token: "<|file_sep|>", again: true },
    ..PLAIN
};

/// `StarCoder2`'s paper, section 3: files after one separator each.
const STARCODER2: Family = Family {
    head: &["<fim_prefix>"],
    between: "<fim_suffix>",
    tail: &["<fim_middle>"],
    stops: &["<|endoftext|>", "<file_sep>"],
    chunks: Chunks::After { token: "<file_sep>", again: true },
    ..PLAIN
};

/// `StarCoder` and Granite-code, which took its tokens over.
const STARCODER: Family = Family {
    stops: &["<|endoftext|>", "<filename>"],
    chunks: Chunks::After { token: "<filename>", again: false },
    ..STARCODER2
};

const SANTACODER: Family = Family {
    head: &["<fim-prefix>"],
    between: "<fim-suffix>",
    tail: &["<fim-middle>"],
    stops: &["<|endoftext|>"],
    ..PLAIN
};

/// `DeepSeek-Coder`'s README; other files stand before the prefix, each after its path.
const DEEPSEEK: Family = Family {
    start: &["<\u{ff5c}begin\u{2581}of\u{2581}sentence\u{ff5c}>"],
    head: &["<\u{ff5c}fim\u{2581}begin\u{ff5c}>"],
    between: "<\u{ff5c}fim\u{2581}hole\u{ff5c}>",
    tail: &["<\u{ff5c}fim\u{2581}end\u{ff5c}>"],
    stops: &["<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>", "<|EOT|>"],
    chunks: Chunks::Text("#"),
    ..PLAIN
};

/// `infilling_prompt_tokens` of `CodeLlama`: the prefix is tokenised with a space in front, the suffix without.
const CODELLAMA: Family = Family {
    start: &["<s>"],
    head: &["\u{2581}<PRE>"],
    between: "\u{2581}<SUF>",
    tail: &["\u{2581}<MID>"],
    stops: &["\u{2581}<EOT>", "</s>"],
    space_in_front: true,
    ..PLAIN
};

const CODEGEMMA: Family = Family {
    start: &["<bos>"],
    head: &["<|fim_prefix|>"],
    between: "<|fim_suffix|>",
    tail: &["<|fim_middle|>"],
    stops: &["<|file_separator|>", "<eos>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    chunks: Chunks::Before("<|file_separator|>"),
    ..PLAIN
};

/// `encode_fim` of mistral-common: the suffix first.
const CODESTRAL: Family = Family {
    start: &["<s>"],
    head: &["[SUFFIX]"],
    order: Order::SuffixFirst,
    between: "[PREFIX]",
    stops: &["</s>"],
    chunks: Chunks::Text("+++++ "),
    space_in_front: true,
    ..PLAIN
};

/// The model card: files after their names, then the suffix first.
const MELLUM: Family = Family {
    head: &["<fim_suffix>"],
    order: Order::SuffixFirst,
    between: "<fim_prefix>",
    tail: &["<fim_middle>"],
    stops: &["<|endoftext|>", "<filename>"],
    chunks: Chunks::After { token: "<filename>", again: false },
    ..PLAIN
};

const ALL: [&Family; 12] = [
    &CODET5,
    &INCODER,
    &QWEN,
    &STARCODER2,
    &STARCODER,
    &SANTACODER,
    &DEEPSEEK,
    &CODELLAMA,
    &CODEGEMMA,
    &CODESTRAL,
    &MELLUM,
    &PLAIN,
];

impl Family {
    /// All special tokens of the layout.
    fn tokens(&self) -> impl Iterator<Item = &'static str> + use<> {
        let chunk = match self.chunks {
            Chunks::Text(_) => None,
            Chunks::After { token, .. } | Chunks::Before(token) => Some(token),
        };
        let lists =
            [self.start, self.head, self.tail, self.stops, self.decoder_start].into_iter().flatten().copied();
        let single = [self.ends.0, self.ends.1, chunk, Some(self.between)].into_iter().flatten();
        lists.chain(single).filter(|token| !token.is_empty())
    }
}

/// What of the architecture decides on the family, besides the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum Traits {
    /// An encoder reads the prompt.
    Encoder,
    Gemma,
    Llama,
    /// A llama whose attention has biases: Granite-code, unlike Mellum, which has the same tokens.
    BiasedLlama,
    Other,
}

/// Special tokens that any family's layout needs.
pub(in crate::model) fn sentinels() -> Vec<&'static str> {
    ALL.iter().flat_map(|family| family.tokens()).collect()
}

/// The family of a model, `None` if it was not trained to infill.
pub(super) fn recognise(traits: Traits, tokenizer: &Tokenizer) -> Option<&'static Family> {
    if traits == Traits::Encoder {
        return Some(&CODET5);
    }
    let has = |token| tokenizer.has(token);
    let family = match () {
        () if has("<|mask:0|>") => &INCODER,
        () if has(DEEPSEEK.between) => &DEEPSEEK,
        () if has(CODELLAMA.between) => &CODELLAMA,
        () if has("[SUFFIX]") => &CODESTRAL,
        () if has("<|fim_suffix|>") && traits == Traits::Gemma => &CODEGEMMA,
        () if has("<|fim_suffix|>") => &QWEN,
        () if has("<fim-suffix>") => &SANTACODER,
        () if has("<fim_suffix>") && has("<file_sep>") => &STARCODER2,
        () if has("<fim_suffix>") && traits == Traits::Llama => &MELLUM,
        () if has("<fim_suffix>") => &STARCODER,
        () => return None,
    };
    Some(family)
}
