//! Names of tests: a class, a method of it, one invocation of a method.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A test as users and reports write it: `org.acme.FooTest#bar`, `org.acme.FooTest#bar[2]` for one invocation of a
/// parameterised test, or `org.acme.FooTest` for all tests of a class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct TestId {
    /// Binary name of the class: packages with `.`, nested classes with `$`.
    pub class: String,
    /// The method, with `[...]` behind it for one invocation; `None` for the class as a whole.
    pub method: Option<String>,
}

/// A text that names no test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a test name like `org.acme.FooTest#bar`")]
pub struct TestIdError(String);

impl TestId {
    /// The method without its invocation: `bar` of `bar[2]`.
    pub fn method_name(&self) -> Option<&str> {
        self.method.as_deref().map(|method| method.split('[').next().unwrap_or(method))
    }

    /// This test without its invocation.
    #[must_use]
    pub fn without_invocation(&self) -> TestId {
        TestId { class: self.class.clone(), method: self.method_name().map(str::to_owned) }
    }

    /// Whether `other` is this test or a part of it: a method of this class, an invocation of this method.
    pub fn covers(&self, other: &TestId) -> bool {
        let class = other.class == self.class
            || self.method.is_none()
                && other.class.strip_prefix(&self.class).is_some_and(|c| c.starts_with('$'));
        class
            && (self.method.is_none()
                || self.method == other.method
                || self.method.as_deref() == other.method_name())
    }

    /// The top-level class around `class`.
    pub fn outermost_class(&self) -> &str {
        self.class.split('$').next().unwrap_or(&self.class)
    }
}

impl FromStr for TestId {
    type Err = TestIdError;

    /// `CLASS#METHOD` or `CLASS::METHOD` (as `defects4j` writes it) or `CLASS`.
    fn from_str(text: &str) -> Result<Self, TestIdError> {
        let split = text.split_once('#').or_else(|| text.split_once("::"));
        let (class, method) = split.map_or((text, None), |(class, method)| (class, Some(method)));
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$');
        let class_is_name = !class.is_empty() && class.chars().all(is_name);
        if !class_is_name || method.is_some_and(str::is_empty) {
            return Err(TestIdError(text.to_owned()));
        }
        Ok(TestId { class: class.to_owned(), method: method.map(|m| m.trim_end_matches("()").to_owned()) })
    }
}

impl From<String> for TestId {
    /// As reports write it: class and method are taken as they are, so that every reported name can be read back.
    fn from(text: String) -> Self {
        match text.split_once('#') {
            Some((class, method)) => TestId { class: class.to_owned(), method: Some(method.to_owned()) },
            None => TestId { class: text, method: None },
        }
    }
}

impl From<TestId> for String {
    fn from(test: TestId) -> String {
        test.to_string()
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.method {
            Some(method) => write!(f, "{}#{method}", self.class),
            None => f.write_str(&self.class),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> TestId {
        text.parse().unwrap()
    }

    #[test]
    fn both_spellings_name_the_same_test() {
        assert_eq!(test("a.B#c"), test("a.B::c"));
        assert_eq!(test("a.B#c()"), test("a.B#c"));
        assert_eq!(test("a.B#c").to_string(), "a.B#c");
    }

    #[test]
    fn what_names_no_test_is_refused() {
        for text in ["", "#c", "a.B#", "a/B.java", "a B#c"] {
            assert!(text.parse::<TestId>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_reported_name_is_read_back_as_it_was() {
        for text in ["JUnit Jupiter", "a.B#c[1: #x]", "a.B#", "a.B"] {
            assert_eq!(TestId::from(text.to_owned()).to_string(), text);
        }
    }

    #[test]
    fn a_test_covers_its_invocations_and_a_class_its_nested_classes() {
        assert!(test("a.B#c").covers(&test("a.B#c[1]")));
        assert!(!test("a.B#c").covers(&test("a.B#cd")));
        assert!(!test("a.B#c[1]").covers(&test("a.B#c[2]")));
        assert!(test("a.B").covers(&test("a.B$In#c")));
        assert!(!test("a.B").covers(&test("a.Bc#c")));
    }
}
