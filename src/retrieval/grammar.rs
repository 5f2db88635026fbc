//! The grammars at hand: which files they read and which of their nodes are scopes.
//!
//! All knowledge of languages that retrieval has is the table below; `chunk` has none.

use std::ops::Range;

use tree_sitter::{Language, Node, Parser, Tree};

/// One language.
#[derive(Debug)]
pub struct Grammar {
    /// Its name in lower case.
    pub name: &'static str,
    extensions: &'static [&'static str],
    language: fn() -> Language,
    /// Kinds of nodes that name a scope; the name is the node's field `name`.
    scopes: &'static [&'static str],
    /// What begins a comment that ends with its line.
    pub comment: &'static str,
}

const TYPESCRIPT_SCOPES: &[&str] = &[
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "enum_declaration",
    "internal_module",
    "module",
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "public_field_definition",
    "variable_declarator",
];

static GRAMMARS: &[Grammar] = &[
    Grammar {
        name: "java",
        extensions: &["java"],
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
        comment: "//",
    },
    Grammar {
        name: "python",
        extensions: &["py", "pyi"],
        language: || tree_sitter_python::LANGUAGE.into(),
        scopes: &["class_definition", "function_definition"],
        comment: "#",
    },
    Grammar {
        name: "c#",
        extensions: &["cs"],
        language: || tree_sitter_c_sharp::LANGUAGE.into(),
        scopes: &[
            "namespace_declaration",
            "class_declaration",
            "struct_declaration",
            "interface_declaration",
            "enum_declaration",
            "record_declaration",
            "method_declaration",
            "constructor_declaration",
            "destructor_declaration",
            "property_declaration",
            "local_function_statement",
        ],
        comment: "//",
    },
    Grammar {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        language: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        scopes: TYPESCRIPT_SCOPES,
        comment: "//",
    },
    Grammar {
        name: "tsx",
        extensions: &["tsx"],
        language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        scopes: TYPESCRIPT_SCOPES,
        comment: "//",
    },
];

/// The grammar for a file, by the extension of its name.
pub fn for_path(path: &str) -> Option<&'static Grammar> {
    let (_, extension) = path.rsplit_once('.')?;
    GRAMMARS.iter().find(|grammar| grammar.extensions.contains(&extension))
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
    fn check(path: &str, marked: &str, expected: &[&str]) {
        let parts: Vec<&str> = marked.split('|').collect();
        let source = parts.concat();
        let bytes = parts[0].len()..parts[0].len() + parts[1].len();
        let grammar = for_path(path).unwrap();
        let tree = grammar.parse(source.as_bytes()).unwrap();
        assert!(!tree.root_node().has_error(), "{marked}");
        assert_eq!(grammar.scopes(&tree, source.as_bytes(), &bytes), expected, "{marked}");
    }

    #[test]
    fn scopes_are_the_enclosing_names_outermost_first() {
        let check = |marked, expected| check("src/A.java", marked, expected);
        check("class A { enum B { C; void m() { int a; |int b;| } } }", &["A", "B", "m"]);
        check("record R(int a) { R { |check(a);| } }", &["R", "R"]);
        check("class A { int a; |int f() { return a; } int g() { return 1; }| }", &["A"]);
    }

    #[test]
    fn a_scope_does_not_enclose_itself() {
        check("A.java", "|class A { int a; }|", &[]);
        check("A.java", "import b.C; |class A { int a;| int b; }", &["A"]);
    }

    #[test]
    fn every_language_names_its_scopes() {
        check("a.py", "class A:\n    def f(self):\n        |x = 1|\n", &["A", "f"]);
        check("a.cs", "namespace N { class A { int P { get { |return 1;| } } } }", &["N", "A", "P"]);
        check("a.cs", "struct S { void M() { void F() { |G();| } } }", &["S", "M", "F"]);
        check("a.ts", "namespace N { class A<T> { f(): T { |return g<T>();| } } }", &["N", "A", "f"]);
        check("a.ts", "const f = (x: number) => { |return x;| };", &["f"]);
        check("a.tsx", "function App() { return <ul>|<li/>|</ul>; }", &["App"]);
    }

    #[test]
    fn other_files_have_no_grammar() {
        assert!(
            for_path("README").is_none() && for_path("a/java").is_none() && for_path("pom.xml").is_none()
        );
    }
}
