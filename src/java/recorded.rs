//! Failures that were recorded elsewhere, and whether a failure here is the same.
//!
//! The text is what `Defects4J` keeps of a failing test: `--- CLASS::METHOD`, then the exception with its stack.

use super::test_id::TestId;

/// A test that failed, and what it threw.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recorded {
    /// The test; a class as a whole if it could not be loaded.
    pub test: TestId,
    /// Class of what it threw, `None` where that is not recorded.
    pub exception: Option<String>,
}

/// Reads recorded failures; other lines are passed over.
pub fn read_recorded(log: &str) -> Vec<Recorded> {
    let mut recorded: Vec<Recorded> = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(test) = line.strip_prefix("--- ").and_then(|name| name.trim().parse().ok()) else {
            continue;
        };
        let exception = lines.peek().and_then(|line| exception_class(line));
        recorded.push(Recorded { test, exception });
    }
    recorded
}

/// The class at the beginning of a printed exception.
fn exception_class(line: &str) -> Option<String> {
    let class = line.split([':', ' ']).next().unwrap_or_default().trim();
    let is_class =
        class.contains('.') && class.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$'));
    is_class.then(|| class.to_owned())
}

/// Whether two exceptions tell the same failure. All kinds of failed assertion are one: which class stands for it
/// depends on the release of the test framework and on what runs the tests.
pub fn is_same_failure(one: &str, other: &str) -> bool {
    one == other || is_assertion(one) && is_assertion(other) || is_timeout(one) && is_timeout(other)
}

fn is_assertion(class: &str) -> bool {
    let simple = class.rsplit('.').next().unwrap_or(class);
    matches!(
        simple,
        "AssertionError"
            | "AssertionFailedError"
            | "ComparisonFailure"
            | "ArrayComparisonFailure"
            | "MultipleFailuresError"
    )
}

/// JUnit before 4.12 throws a plain `Exception` when a test takes too long.
fn is_timeout(class: &str) -> bool {
    matches!(class, "java.lang.Exception" | "org.junit.runners.model.TestTimedOutException")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let write = |r: &Recorded| format!("{} {}", r.test, r.exception.as_deref().unwrap_or("?"));
        read_recorded(text).iter().map(write).collect()
    }

    #[test]
    fn each_failure_is_a_test_and_a_class() {
        let text = "--- a.BTest::c\njunit.framework.AssertionFailedError: x: y\n\tat a.B.c(B.java:1)\n\n\
                    --- a.CTest::d\njava.lang.NullPointerException\n\tat a.C\n--- a.DTest\n";
        assert_eq!(
            check(text),
            [
                "a.BTest#c junit.framework.AssertionFailedError",
                "a.CTest#d java.lang.NullPointerException",
                "a.DTest ?"
            ]
        );
    }

    #[test]
    fn notes_and_stacks_are_no_failures() {
        assert_eq!(check("## Csv: 1 (0833) ##\n\tat --- a.B\n"), Vec::<String>::new());
    }

    #[test]
    fn assertions_are_alike_and_other_exceptions_are_not() {
        assert!(is_same_failure("junit.framework.AssertionFailedError", "org.junit.ComparisonFailure"));
        assert!(is_same_failure("a.B", "a.B"));
        assert!(!is_same_failure("java.lang.NullPointerException", "java.lang.AssertionError"));
        assert!(!is_same_failure("java.lang.Exception", "java.lang.RuntimeException"));
    }
}
