//! Names as search terms: whole and split, folded to lower case. One reading for sources and for queries.

/// Terms of a text in order, repetitions included: each identifier as a whole and, if it is made of several words, each
/// word (`parseHTTPHeader2` gives `parsehttpheader2`, `parse`, `http`, `header`). Words in comments and literals count
/// like names; single letters count as whole identifiers only, numbers not at all.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for name in text.split(|c: char| !is_part(c)) {
        let name = name.trim_start_matches(|c: char| c.is_numeric());
        if name.is_empty() {
            continue;
        }
        terms.push(name.to_lowercase());
        let words = words(name);
        if words.len() > 1 {
            terms.extend(words.into_iter().filter(|word| is_word(word)).map(str::to_lowercase));
        }
    }
    terms
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_word(word: &str) -> bool {
    word.chars().nth(1).is_some() && word.starts_with(char::is_alphabetic)
}

/// Splits a name at `_` and `$`, between letters and digits, and where the case shows a new word.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut previous: Option<char> = None;
    let mut chars = name.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        if previous.is_some_and(|previous| begins_word(previous, c, next)) {
            words.push(&name[start..at]);
            start = at;
        }
        if c == '_' || c == '$' {
            start = at + c.len_utf8();
        }
        previous = Some(c);
    }
    words.push(&name[start..]);
    words.retain(|word| !word.is_empty());
    words
}

fn begins_word(previous: char, c: char, next: Option<char>) -> bool {
    let up = c.is_uppercase();
    // `aB`, and the `S` of `HTTPServer`
    (up && previous.is_lowercase())
        || (up && previous.is_uppercase() && next.is_some_and(char::is_lowercase))
        || previous.is_numeric() != c.is_numeric()
        || c == '_'
        || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(terms(text).join(" "), expected);
    }

    #[test]
    fn names_are_terms_whole_and_split() {
        check("parseHTTPHeader2(x);", "parsehttpheader2 parse http header x");
        check("MAX_VALUE = _inner$Class", "max_value max value _inner$class inner class");
        check("utf8Éclair été", "utf8éclair utf éclair été");
    }

    #[test]
    fn one_word_is_one_term() {
        check("return Node; // a Node", "return node a node");
    }

    #[test]
    fn numbers_are_no_terms() {
        check("1 + 0x1F + 12L + a1", "x1f l a1");
    }
}
