//! File patterns as Ant and Maven write them: `**` for any number of directories, `*` and `?` inside a name.

use std::path::Path;

/// Whether `pattern` matches a path relative to the directory that the pattern is about.
pub(super) fn matches(pattern: &str, path: &Path) -> bool {
    let pattern = pattern.trim().replace('\\', "/");
    // A directory alone means all that is in it.
    let pattern = if pattern.ends_with('/') { pattern + "**" } else { pattern };
    let wanted: Vec<&str> = pattern.split('/').collect();
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match_with(&"**", &wanted, &names, match_name)
}

fn match_name(wanted: &&str, name: &&str) -> bool {
    let wanted: Vec<char> = wanted.chars().collect();
    let name: Vec<char> = name.chars().collect();
    match_with(&'*', &wanted, &name, |&wanted, &c| wanted == '?' || wanted == c)
}

/// Matches a sequence against a pattern in which `any` stands for any number of elements.
fn match_with<T: PartialEq>(any: &T, wanted: &[T], given: &[T], same: fn(&T, &T) -> bool) -> bool {
    // `reach[i]`: the pattern so far matches the first `i` elements.
    let mut reach = vec![false; given.len() + 1];
    reach[0] = true;
    for wanted in wanted {
        let is_any = wanted == any;
        let mut next = vec![is_any && reach[0]];
        for (i, element) in given.iter().enumerate() {
            next.push(if is_any { reach[i + 1] || next[i] } else { reach[i] && same(wanted, element) });
        }
        reach = next;
    }
    reach[given.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        for path in matching {
            assert!(matches(pattern, Path::new(path)), "{pattern} {path}");
        }
        for path in others {
            assert!(!matches(pattern, Path::new(path)), "{pattern} {path}");
        }
    }

    #[test]
    fn stars_stay_inside_a_name_and_double_stars_do_not() {
        check(
            "**/*Benchmark*",
            &["ABenchmark.java", "a/b/BenchmarkTest.java"],
            &["a/Bench.java", "Benchmark/A.java"],
        );
        check("a/*.java", &["a/B.java"], &["a/b/C.java", "B.java"]);
        check("a/**/B?.java", &["a/B1.java", "a/x/y/B2.java"], &["a/B.java", "b/a/B1.java"]);
        check("gen/", &["gen/A.java", "gen/b/C.java"], &["a/gen/A.java"]);
    }
}
