//! Source files as bytes, lines and text.
//!
//! A [`Source`] keeps the bytes of a file and knows how to read them as text with `\n` line ends; a change is made on
//! the bytes, so everything outside it stays as it was: encoding, line ends, byte order mark, missing last newline.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// A line's terminator in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl LineEnd {
    /// The terminator's bytes in an ASCII-compatible encoding.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
        }
    }
}

/// Why a file cannot be read as text, or a text not be written to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The charset label means nothing.
    #[error("unknown encoding `{0}`")]
    UnknownEncoding(String),
    /// UTF-16 sources: not ASCII-compatible, so lines cannot be found in the bytes.
    #[error("encoding `{0}` is not supported: only ASCII-compatible encodings are")]
    NotAsciiCompatible(&'static str),
    /// The text has a character that the file's encoding lacks.
    #[error("encoding `{0}` lacks a character of the new text")]
    Unmappable(&'static str),
}

/// The bytes of one file with the encoding that they are read in.
#[derive(Debug, Clone)]
pub struct Source {
    bytes: Vec<u8>,
    encoding: &'static Encoding,
    /// Byte offset at which each line starts; never empty.
    line_starts: Vec<usize>,
}

impl Source {
    /// Reads `bytes` in the encoding named `label`. Bytes that are not valid in it are read as windows-1252, which
    /// gives every byte a character, so the text survives unchanged.
    pub fn new(bytes: Vec<u8>, label: &str) -> Result<Self, TextError> {
        let declared = Encoding::for_label(label.as_bytes())
            .ok_or_else(|| TextError::UnknownEncoding(label.to_owned()))?;
        if !declared.is_ascii_compatible() {
            return Err(TextError::NotAsciiCompatible(declared.name()));
        }
        let valid = declared.decode_without_bom_handling_and_without_replacement(&bytes).is_some();
        let encoding = if valid { declared } else { WINDOWS_1252 };
        let mut line_starts = vec![0];
        line_starts
            .extend(bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1));
        if line_starts.len() > 1 && line_starts.last() == Some(&bytes.len()) {
            line_starts.pop();
        }
        Ok(Self { bytes, encoding, line_starts })
    }

    /// The file as it is on disk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Name of the encoding that the bytes are read in.
    pub fn encoding(&self) -> &'static str {
        self.encoding.name()
    }

    /// Whether the text is plain UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.encoding == UTF_8
    }

    /// Number of lines; a terminator at the very end starts no further line.
    pub fn n_lines(&self) -> usize {
        self.line_starts.len()
    }

    /// Byte range of a 1-based line without its terminator.
    ///
    /// # Panics
    /// If there is no such line.
    pub fn line(&self, number: usize) -> Range<usize> {
        let start = self.line_starts[number - 1];
        let end = self.line_starts.get(number).copied().unwrap_or(self.bytes.len());
        let text = &self.bytes[start..end];
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        start..start + text.len()
    }

    /// The terminator of a 1-based line; for a last line without one, that of the line before.
    pub fn line_end(&self, number: usize) -> LineEnd {
        let after = |number: usize| &self.bytes[self.line(number).end..];
        if number > 1 && after(number).is_empty() {
            return self.line_end(number - 1);
        }
        if after(number).starts_with(b"\r\n") { LineEnd::CrLf } else { LineEnd::Lf }
    }

    /// A part of the file as text with `\n` line ends. `range` must not cut a character.
    pub fn text(&self, range: Range<usize>) -> String {
        let (text, _) = self.encoding.decode_without_bom_handling(&self.bytes[range]);
        text.replace("\r\n", "\n")
    }

    /// The whole file with `range` replaced by `text`, whose `\n` are written as `line_end`.
    pub fn replace(&self, range: Range<usize>, text: &str, line_end: LineEnd) -> Result<Vec<u8>, TextError> {
        let text = text.replace('\n', line_end.as_str());
        let (new, _, unmappable) = self.encoding.encode(&text);
        if unmappable {
            return Err(TextError::Unmappable(self.encoding.name()));
        }
        Ok([&self.bytes[..range.start], &new, &self.bytes[range.end..]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], lines: &[&str]) {
        let source = Source::new(bytes.to_vec(), "UTF-8").unwrap();
        let got: Vec<String> = (1..=source.n_lines()).map(|n| source.text(source.line(n))).collect();
        assert_eq!(got, lines);
    }

    #[test]
    fn lines_end_at_lf_and_crlf_and_at_the_end_of_the_file() {
        check(b"a\nb\n", &["a", "b"]);
        check(b"a\r\nb", &["a", "b"]);
        check(b"a\n\n", &["a", ""]);
        check(b"", &[""]);
    }

    #[test]
    fn a_change_leaves_the_other_bytes_alone() {
        let bytes = b"\xEF\xBB\xBFone\r\ntwo\nthree";
        let source = Source::new(bytes.to_vec(), "utf8").unwrap();
        let new = source.replace(source.line(2), "2\n2", source.line_end(1)).unwrap();
        assert_eq!(new, b"\xEF\xBB\xBFone\r\n2\r\n2\nthree");
    }

    #[test]
    fn bytes_that_are_not_utf8_survive_a_change() {
        let source = Source::new(b"caf\xE9\nx\n".to_vec(), "UTF-8").unwrap();
        assert_eq!(source.text(source.line(1)), "café");
        assert_eq!(source.replace(source.line(2), "é", LineEnd::Lf).unwrap(), b"caf\xE9\n\xE9\n");
        assert_eq!(
            source.replace(source.line(2), "\u{4e2d}", LineEnd::Lf),
            Err(TextError::Unmappable("windows-1252"))
        );
    }

    #[test]
    fn encodings_that_hide_line_ends_are_refused() {
        assert_eq!(Source::new(vec![], "UTF-16LE").unwrap_err(), TextError::NotAsciiCompatible("UTF-16LE"));
        assert_eq!(Source::new(vec![], "klingon").unwrap_err(), TextError::UnknownEncoding("klingon".into()));
    }
}
