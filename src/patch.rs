//! A change of one file as a diff that `git apply` takes, and such a diff put into a file.

use similar::TextDiff;

mod applied;

pub use applied::{ApplyError, apply};

/// Context lines around a hunk, as `git diff` shows them.
const CONTEXT: usize = 3;

/// A unified diff from `old` to `new` of the file at `path`, a `/`-separated path relative to the project's root.
/// Bytes, because the file's encoding and line ends are kept. Empty if nothing differs.
pub fn unified_diff(path: &str, old: &[u8], new: &[u8]) -> Vec<u8> {
    let diff = TextDiff::from_lines(old, new);
    let mut out = Vec::new();
    diff.unified_diff()
        .context_radius(CONTEXT)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_writer(&mut out)
        .expect("writing to memory does not fail");
    out
}

/// Number of lines that a diff adds and removes together: the size of a patch.
pub fn size(diff: &[u8]) -> usize {
    diff.split(|&byte| byte == b'\n')
        .filter(|line| matches!(line.first(), Some(b'+' | b'-')))
        .filter(|line| !line.starts_with(b"+++ ") && !line.starts_with(b"--- "))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_the_file_and_keeps_carriage_returns() {
        let diff = unified_diff("src/A.java", b"a\r\nb\r\n", b"a\r\nc\r\n");
        assert_eq!(
            String::from_utf8(diff.clone()).unwrap(),
            "--- a/src/A.java\n+++ b/src/A.java\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"
        );
        assert_eq!(size(&diff), 2);
    }

    #[test]
    fn a_missing_last_newline_is_marked() {
        let diff = String::from_utf8(unified_diff("A", b"a", b"b")).unwrap();
        assert_eq!(diff.matches("\\ No newline at end of file").count(), 2, "{diff}");
    }

    #[test]
    fn equal_files_have_no_diff() {
        assert!(unified_diff("A", b"a\n", b"a\n").is_empty());
    }
}
