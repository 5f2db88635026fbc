//! A diff put into a file whose lines may have moved, but not changed, where the diff touches them.

/// Why a diff does not go in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Not a unified diff of one file.
    #[error("line {0} of the diff is not understood")]
    Malformed(usize),
    /// The lines of a hunk are not in the file as the diff has them.
    #[error("lines {first}-{last} have changed since the patch was made")]
    Dirty {
        /// First line of the hunk in the file that the diff was made from.
        first: usize,
        /// The last one.
        last: usize,
    },
    /// The lines of a hunk stand in several places, and not where they stood.
    #[error("lines {first}-{last} stand in {n} places now, none of them where they were")]
    Ambiguous {
        /// First line of the hunk in the file that the diff was made from.
        first: usize,
        /// The last one.
        last: usize,
        /// In how many.
        n: usize,
    },
}

/// One hunk of a diff.
#[derive(Debug, Default)]
struct DiffHunk {
    /// First line of the old file, 1-based.
    first: usize,
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
}

/// The file's bytes with the diff put in. A hunk goes where its lines stand: at the line that the diff names, else in the
/// one place where they stand now.
pub fn apply(file: &[u8], diff: &[u8]) -> Result<Vec<u8>, ApplyError> {
    let mut lines: Vec<Vec<u8>> = split(file);
    let mut shift = 0_isize;
    for hunk in hunks(diff)? {
        let at = place(&lines, &hunk, shift)?;
        shift += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
        lines.splice(at..at + hunk.old.len(), hunk.new);
    }
    Ok(lines.concat())
}

fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Index of the line where a hunk's old lines begin.
fn place(lines: &[Vec<u8>], hunk: &DiffHunk, shift: isize) -> Result<usize, ApplyError> {
    let stands_at = |at: usize| lines.get(at..at + hunk.old.len()).is_some_and(|found| found == hunk.old);
    // A hunk without old lines names the line after which it goes.
    let named = if hunk.old.is_empty() { hunk.first } else { hunk.first.saturating_sub(1) };
    if let Some(at) = named.checked_add_signed(shift)
        && stands_at(at)
    {
        return Ok(at);
    }
    let (first, last) = (hunk.first, hunk.first + hunk.old.len().saturating_sub(1));
    let places: Vec<usize> = (0..lines.len()).filter(|&at| !hunk.old.is_empty() && stands_at(at)).collect();
    match places.as_slice() {
        [at] => Ok(*at),
        [] => Err(ApplyError::Dirty { first, last }),
        places => Err(ApplyError::Ambiguous { first, last, n: places.len() }),
    }
}

fn hunks(diff: &[u8]) -> Result<Vec<DiffHunk>, ApplyError> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let mut sign = b' ';
    for (number, line) in (1..).zip(split(diff)) {
        let malformed = ApplyError::Malformed(number);
        if line.starts_with(b"@@ -") {
            let first = first_line(&line).ok_or(malformed)?;
            hunks.push(DiffHunk { first, ..DiffHunk::default() });
            continue;
        }
        // What comes before the first hunk names the files.
        let Some(DiffHunk { old, new, .. }) = hunks.last_mut() else { continue };
        let text = line[1..].to_vec();
        match line[0] {
            b' ' => {
                old.push(text.clone());
                new.push(text);
            }
            b'-' => old.push(text),
            b'+' => new.push(text),
            b'\\' => {
                // The line before is the last of its file and has no line end.
                let sides = [(b'+', old), (b'-', new)].into_iter().filter(|(other, _)| *other != sign);
                for last in sides.filter_map(|(_, lines)| lines.last_mut()) {
                    last.truncate(last.len().saturating_sub(1));
                }
            }
            _ => return Err(malformed),
        }
        sign = line[0];
    }
    Ok(hunks)
}

/// The old file's line in `@@ -FIRST,N +FIRST,N @@`.
fn first_line(header: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(header).ok()?;
    text.strip_prefix("@@ -")?.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::unified_diff;

    const OLD: &str = "a\nb\nc\nd\ne\nf\ng\n";
    const NEW: &str = "a\nb\nc\nx\ne\nf\ng\n";

    fn check(file: &str) -> Result<String, ApplyError> {
        let diff = unified_diff("A", OLD.as_bytes(), NEW.as_bytes());
        apply(file.as_bytes(), &diff).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_diff_goes_in_where_it_was_made_and_where_its_lines_moved_to() {
        assert_eq!(check(OLD), Ok(NEW.to_owned()));
        assert_eq!(check(&format!("1\n2\n{OLD}3\n")), Ok(format!("1\n2\n{NEW}3\n")));
        assert_eq!(check(&OLD.replacen('a', "A", 1)), Err(ApplyError::Dirty { first: 1, last: 7 }));
    }

    #[test]
    fn a_hunk_whose_lines_changed_or_stand_twice_is_refused() {
        assert_eq!(check(&OLD.replace('d', "D")), Err(ApplyError::Dirty { first: 1, last: 7 }));
        let twice = format!("0\n{OLD}{OLD}");
        assert_eq!(check(&twice), Err(ApplyError::Ambiguous { first: 1, last: 7, n: 2 }));
        assert_eq!(check(NEW), Err(ApplyError::Dirty { first: 1, last: 7 }), "it is in already");
    }

    #[test]
    fn line_ends_and_a_missing_last_one_are_kept() {
        let (old, new) = ("a\r\nb\r\nc", "a\r\nx\r\nc");
        let diff = unified_diff("A", old.as_bytes(), new.as_bytes());
        assert_eq!(apply(old.as_bytes(), &diff).unwrap(), new.as_bytes());
        for (old, new) in [("a\nb", "a\nb\n"), ("a\nb\n", "a\nb"), ("a", "b"), ("a\n", ""), ("", "a\n")] {
            let diff = unified_diff("A", old.as_bytes(), new.as_bytes());
            assert_eq!(apply(old.as_bytes(), &diff).unwrap(), new.as_bytes(), "{old:?} to {new:?}");
        }
    }
}
