//! Texts in, what the lexemes say of them out.

use super::*;

fn key(text: &str) -> Option<String> {
    Lexemes::of(text).receiver_key(0, 0)
}

#[test]
fn lexemes_leave_comments_out_and_keep_literals_whole() {
    let text = "a/*b*/ += \"x \\\" y\" ; // z\n'\\'' >= c1.d";
    let lexemes = Lexemes::of(text);
    let texts: Vec<&str> = (0..lexemes.len()).map(|i| lexemes.at(i)).collect();
    assert_eq!(texts, ["a", "+=", "\"x \\\" y\"", ";", "'\\''", ">=", "c1", ".", "d"]);
}

#[test]
fn one_receiver_has_one_key_whatever_was_written_before() {
    assert_eq!(key("x.y();\n  a.b(c)."), key("if (z) { q(); } a . b(c)."));
    assert_eq!(key("return a + items."), key("return b * items."));
    assert_ne!(key("a.b(c)."), key("a.b(d)."));
    assert_ne!(key("a.b."), key("b."));
}

#[test]
fn the_root_of_a_receiver_is_found_through_calls_and_brackets() {
    for (text, expected) in [
        ("f(new A(1).b[2].c().", "w ( new A ( 1 ) . b [ 2 ] . c ( ) ."),
        ("x = ((A) y).", "= ( ( A ) y ) ."),
        ("x + \"a\".", "+ \"a\" ."),
        ("this.x.", " this . x ."),
        ("return f(a)(b).", "return f ( a ) ( b ) ."),
    ] {
        assert_eq!(key(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn a_receiver_that_the_text_declares_depends_on_its_declaration() {
    assert_ne!(key("A x = a(); x."), key("B x = a(); x."));
    assert_eq!(key("A x = a(); x."), key("A x = b(); y(); x."));
    assert_ne!(key("List<A> x; x."), key("List<B> x; x."));
    assert_ne!(key("A x; y."), key("A x; x."));
    let needs_all = [
        "var x = a(); x.",
        "f(x -> x.",
        "{ A x = a(); } x.",
        "if (o instanceof A x && x.",
        "for (A x : y) { x.",
    ];
    assert!(needs_all.iter().all(|text| key(text).is_none()));
}

#[test]
fn a_receiver_in_a_scope_of_its_own_has_no_key() {
    assert_eq!(key("new A() { void f() { g()."), None);
    assert_eq!(key("} void f() { g()."), None);
    assert_eq!(key("f(x -> { return 1; })."), None);
    assert!(key("if (a) { while (b) { g().").is_some());
}

#[test]
fn a_word_that_no_arrow_follows_is_no_parameter_of_a_lambda() {
    let demands = |text: &str, next: u8| Lexemes::of(text).demands_a_name(Some(next));
    assert!(demands("f(a, word", b',') && demands("f(g(a), word", b')') && demands("x = f(word", b'.'));
    assert!(demands("return word", b';') && demands("a = word", b'.') && demands("a -> word", b'('));
    assert!(!demands("f(a, word", b' ') && !demands("return word", b'-'));
    assert!(!demands("f((a, word", b')') && !demands("(word", b')') && !demands("return (a, word", b','));
    assert!(!demands("int a = 1, word", b';') && !demands("{ a, word", b','));
    assert!(!demands("@A(word", b'=') && !demands("case A, word", b':'));
}

#[test]
fn a_name_is_demanded_only_where_none_can_be_declared() {
    let demands = |text: &str| Lexemes::of(text).demands_a_name(None);
    for text in ["a + b", "; b", "if (b", "x[b", "!b", "a && b", "throw b", "x += b", "if (a) { b", "} b"] {
        assert!(demands(text), "{text}");
    }
    for text in [
        "f(b",
        "f(a, b",
        "x = b",
        "return b",
        "c ? b",
        "(T) b",
        "case b",
        "List<A> b",
        "A b",
        "b",
        "() -> b",
        "= { b",
    ] {
        assert!(!demands(text), "{text}");
    }
}
