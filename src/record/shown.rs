//! What a reader, or the model, saw of a bug: the hole with its surroundings, the chunks of the project.

use serde::{Deserialize, Serialize};

/// Lines kept before and after the hole.
const AROUND: usize = 12;

/// `shown.json`. All text has `\n` line ends, and whole lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Number of the first line of `before`.
    pub first_line: usize,
    /// Lines before the hole.
    pub before: String,
    /// The buggy lines; empty where lines are missing.
    pub hole: String,
    /// Lines after the hole.
    pub after: String,
    /// Chunks of the project that were in the prompt.
    pub chunks: Vec<ShownChunk>,
}

/// A chunk of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownChunk {
    /// Where it stands.
    pub citation: String,
    /// Its text.
    pub text: String,
}

impl Shown {
    /// Of a whole-line hole: what stands before it, in it and after it, cut as a `cloze::Cloze` cuts it. `first` is the
    /// hole's first line.
    pub fn new(prefix: &str, original: &str, suffix: &str, first: usize, chunks: Vec<ShownChunk>) -> Self {
        let before: Vec<&str> = prefix.lines().take(first - 1).collect();
        let before = &before[before.len().saturating_sub(AROUND)..];
        let whole = |lines: &[&str]| lines.iter().map(|line| [line, "\n"].concat()).collect::<String>();
        let body = |text: &str| {
            text.strip_prefix('\n').unwrap_or(text).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let owned = |lines: Vec<String>| whole(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        Self {
            first_line: first - before.len(),
            before: whole(before),
            hole: owned(body(original)),
            after: owned(body(suffix).into_iter().take(AROUND).collect()),
            chunks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_stand_around_the_hole_with_their_numbers() {
        let text: String = (1..=20).map(|n| n.to_string() + "\n").collect();
        let at = text.find("\n15\n").unwrap();
        let shown = Shown::new(&text[..at], "\n15\n16", &text[at + 6..], 15, Vec::new());
        assert_eq!((shown.first_line, shown.hole.as_str()), (3, "15\n16\n"));
        assert!(shown.before.starts_with("3\n4\n") && shown.before.ends_with("\n14\n"), "{}", shown.before);
        assert_eq!(shown.after, "17\n18\n19\n20\n");
        let first = Shown::new("", "a", "\nb\n", 1, Vec::new());
        assert_eq!(
            (first.first_line, first.before.as_str(), first.hole.as_str(), first.after.as_str()),
            (1, "", "a\n", "b\n")
        );
    }
}
