//! The keywords of Java.

/// Reserved words, literals and those contextual keywords that may stand in a method or a class (JLS 3.9).
const KEYWORDS: [&str; 59] = [
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "non",
    "null",
    "package",
    "permits",
    "private",
    "protected",
    "public",
    "record",
    "return",
    "sealed",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "true",
    "try",
    "var",
    "void",
    "volatile",
    "when",
    "while",
];

/// Contextual keywords that are also ordinary method names: a keyword only where a statement begins.
const YIELD: &str = "yield";

/// Whether a word is a keyword or literal of the language.
pub fn is_keyword(word: &[u8]) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.as_bytes() == word) || word == YIELD.as_bytes()
}

/// Whether some keyword or literal starts with `prefix`.
pub fn is_keyword_prefix(prefix: &[u8]) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.as_bytes().starts_with(prefix))
        || YIELD.as_bytes().starts_with(prefix)
}

/// Keywords that may follow a receiver's dot (JLS 15.8, 15.9): `A.class`, `A.this`, `A.super`, `a.new B()`.
pub const AFTER_DOT: [&str; 4] = ["class", "new", "super", "this"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_not_yet_a_keyword() {
        assert!(is_keyword_prefix(b"inst") && !is_keyword(b"inst") && is_keyword(b"instanceof"));
        assert!(!is_keyword_prefix(b"insu"));
    }
}
