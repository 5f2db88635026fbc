//! The grammars at hand: which files they read and which of their nodes are scopes.
//!
//! All knowledge of languages that retrieval has is the table below; `chunk` has none.

use std::ops::Range;

use tree_sitter::{Language, Node, Parser, Tree};

/// One language.
#[derive(Debug)]
pub struct Grammar {
    extension: &'static str,
    language: fn() -> Language,
    /// Kinds of nodes that name a scope; the name is the node's field `name`.
    scopes: &'static [&'static str],
}

static GRAMMARS: &[Grammar] = &[Grammar {
    extension: "java",
    language: || tree_sitter_java::LANGUAGE.into(),
    scopes: &[
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "method_declaration",
        "constructor_declaration",
        "compact_constructor_declaration",
    ],
}];

/// The grammar for a file, by the extension of its name.
pub fn for_path(path: &str) -> Option<&'static Grammar> {
    let (_, extension) = path.rsplit_once('.')?;
    GRAMMARS.iter().find(|grammar| grammar.extension == extension)
}

impl Grammar {
    /// The syntax tree; broken sources have one too. `None`: the grammar was made for another tree-sitter.
    pub fn parse(&self, source: &[u8]) -> Option<Tree> {
        let mut parser = Parser::new();
        parser.set_language(&(self.language)()).ok()?;
        parser.parse(source, None)
    }

    /// Names of the scopes that enclose `bytes` and more, outermost first.
    pub fn scopes(&self, tree: &Tree, source: &[u8], bytes: &Range<usize>) -> Vec<String> {
        let mut names = Vec::new();
        let mut cursor = tree.root_node().walk();
        loop {
            let node = cursor.node();
            if self.scopes.contains(&node.kind()) && node.byte_range() != *bytes {
                names.extend(name(node, source));
            }
            let inside = cursor.goto_first_child_for_byte(bytes.start).is_some();
            let range = cursor.node().byte_range();
            if !inside || bytes.start < range.start || range.end < bytes.end {
                return names;
            }
        }
    }
}

fn name(scope: Node, source: &[u8]) -> Option<String> {
    let name = scope.child_by_field_name("name")?;
    Some(String::from_utf8_lossy(&source[name.byte_range()]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scopes of the part of the source between the two bars.
    fn check(marked: &str, expected: &[&str]) {
        let parts: Vec<&str> = marked.split('|').collect();
        let source = parts.concat();
        let bytes = parts[0].len()..parts[0].len() + parts[1].len();
        let java = for_path("src/A.java").unwrap();
        let tree = java.parse(source.as_bytes()).unwrap();
        assert_eq!(java.scopes(&tree, source.as_bytes(), &bytes), expected, "{marked}");
    }

    #[test]
    fn scopes_are_the_enclosing_names_outermost_first() {
        check("class A { enum B { C; void m() { int a; |int b;| } } }", &["A", "B", "m"]);
        check("record R(int a) { R { |check(a);| } }", &["R", "R"]);
        check("class A { int a; |int f() { return a; } int g() { return 1; }| }", &["A"]);
    }

    #[test]
    fn a_scope_does_not_enclose_itself() {
        check("|class A { int a; }|", &[]);
        check("import b.C; |class A { int a;| int b; }", &["A"]);
    }

    #[test]
    fn other_files_have_no_grammar() {
        assert!(
            for_path("README").is_none() && for_path("a/java").is_none() && for_path("pom.xml").is_none()
        );
    }
}
