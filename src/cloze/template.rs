//! Templates of the Repilot paper: parts of the buggy lines that stay, so that the model writes the rest only.
//!
//! Exact as to kinds, order, number and quotas of its published program, which works on text: groups of brackets are
//! found without regard to strings or nesting, and a text that occurs twice is passed over. One thing differs: the first
//! line's indentation stays. A template's hole has a stand-in that makes the program what it was, so that a compiler
//! can tell what it complained about anyway.

use serde::{Deserialize, Serialize};

use super::Cloze;

/// What a template keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemplateKind {
    /// The first tokens of the buggy text.
    PartialBefore,
    /// The last tokens of the buggy text.
    PartialAfter,
    /// A condition, to which another is added.
    Condition,
    /// A call but for its arguments.
    Arguments,
    /// A call but for one of its arguments, or with one more.
    SeveralArguments,
    /// The arguments of a call.
    Callee,
    /// Nothing.
    Whole,
}

/// A part of the buggy lines that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What is kept.
    pub kind: TemplateKind,
    /// Text before the hole, from the first line's first character that is no blank.
    pub before: String,
    /// Text after the hole, up to the last line's end.
    pub after: String,
    /// What may stand in the hole and leaves the program as it was, as far as that is possible.
    pub stand_in: String,
}

impl Template {
    fn new(kind: TemplateKind, before: &str, after: &str, stand_in: &str) -> Self {
        Self { kind, before: before.to_owned(), after: after.to_owned(), stand_in: stand_in.to_owned() }
    }

    /// The hole that the template leaves of the one that `cloze` is. The first line's indentation stays.
    pub fn cut(&self, cloze: &Cloze) -> Cloze {
        if self.kind == TemplateKind::Whole {
            return cloze.clone();
        }
        let indentation = &cloze.original[..cloze.original.len() - cloze.original.trim_start().len()];
        cloze.keeping(&format!("{indentation}{}", self.before), &self.after, &self.stand_in)
    }
}

/// The paper's templates of a buggy text, in its order; the one that keeps nothing comes last. `tokens` are the pieces
/// that the model's tokenizer makes of the text without its indentation. An empty text has the last one only.
pub fn paper_templates(buggy: &str, tokens: &[String]) -> Vec<Template> {
    let buggy = buggy.trim_start();
    let mut templates = Vec::new();
    if !buggy.is_empty() {
        templates.extend(partial(tokens));
        templates.extend(conditions(buggy));
        templates.extend(arguments(buggy));
        templates.extend(several_arguments(buggy));
        templates.extend(callees(buggy));
    }
    templates.push(Template::new(TemplateKind::Whole, "", "", buggy));
    templates
}

/// How many samples each template gets; the last one, which keeps nothing, gets what is left.
pub fn paper_quotas(n_templates: usize, samples: usize) -> Vec<usize> {
    let n = n_templates.max(1);
    let each = samples / n;
    let mut quotas = vec![each; n - 1];
    quotas.push(samples - each * (n - 1));
    quotas
}

fn partial(tokens: &[String]) -> Vec<Template> {
    let text = |tokens: &[String]| tokens.concat();
    let cuts = 1..=tokens.len();
    let before = cuts
        .clone()
        .map(|n| Template::new(TemplateKind::PartialBefore, &text(&tokens[..n]), "", &text(&tokens[n..])));
    let after = cuts.map(|n| {
        let at = tokens.len() - n;
        Template::new(TemplateKind::PartialAfter, "", &text(&tokens[at..]), &text(&tokens[..at]))
    });
    before.chain(after).collect()
}

/// `if (...) {` on one line, with another condition before its last bracket.
fn conditions(buggy: &str) -> Vec<Template> {
    let line = buggy.trim();
    let is_condition = || {
        let rest = line.strip_prefix("if")?.trim_start().strip_prefix('(')?;
        let rest = rest.strip_suffix('{')?.trim_end();
        rest.ends_with(')').then_some(())
    };
    if line.contains('\n') || is_condition().is_none() {
        return Vec::new();
    }
    let at = buggy.rfind(')').expect("the line has a closing bracket");
    let (before, after) = buggy.split_at(at);
    let with = |operator: &str, neutral| {
        Template::new(TemplateKind::Condition, &format!("{before} {operator}"), after, neutral)
    };
    vec![with("&&", " true"), with("||", " false")]
}

/// A pair of brackets with something but no bracket between them.
struct Group<'a> {
    /// Before the opening bracket.
    before: &'a str,
    inside: &'a str,
    /// After the closing bracket.
    after: &'a str,
}

fn groups(buggy: &str) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    let mut open = None;
    for (at, c) in buggy.char_indices() {
        match (c, open) {
            ('(', _) => open = Some(at),
            (')', Some(start)) => {
                if at > start + 1 {
                    let (before, inside, after) = (&buggy[..start], &buggy[start + 1..at], &buggy[at + 1..]);
                    groups.push(Group { before, inside, after });
                }
                open = None;
            }
            _ => {}
        }
    }
    groups
}

/// Those whose text occurs once.
fn single_groups(buggy: &str) -> Vec<Group<'_>> {
    let occurs_once = |group: &Group| buggy.matches(&format!("({})", group.inside)).count() == 1;
    groups(buggy).into_iter().filter(occurs_once).collect()
}

fn arguments(buggy: &str) -> Vec<Template> {
    // The paper's program passes over a text that is known on one of its sides; what is passed over is known too.
    let (mut befores, mut afters) = (Vec::new(), Vec::new());
    let mut templates = Vec::new();
    for group in single_groups(buggy) {
        if !befores.contains(&group.before) && !afters.contains(&group.after) {
            let (before, after) = (format!("{}(", group.before), format!("){}", group.after));
            templates.push(Template::new(TemplateKind::Arguments, &before, &after, group.inside));
        }
        befores.push(group.before);
        afters.push(group.after);
    }
    templates
}

fn several_arguments(buggy: &str) -> Vec<Template> {
    single_groups(buggy).iter().filter(|group| group.inside.contains(',')).flat_map(of_group).collect()
}

fn of_group(group: &Group) -> Vec<Template> {
    let Group { before, inside, after } = group;
    let keep = |kept_before: &str, kept_after: &str, stand_in: &str| {
        let (before, after) = (format!("{before}({kept_before}"), format!("{kept_after}){after}"));
        Template::new(TemplateKind::SeveralArguments, &before, &after, stand_in)
    };
    let mut templates =
        vec![keep("", &format!(",{inside}"), "null"), keep(&format!("{inside},"), "", " null")];
    let parts: Vec<&str> = inside.split(',').collect();
    for (index, part) in parts.iter().enumerate() {
        let others = |parts: &[&str]| parts.join(",");
        let (left, right) = (others(&parts[..index]), others(&parts[index + 1..]));
        let left = if index == 0 { left } else { left + "," };
        let right = if index + 1 == parts.len() { right } else { format!(",{right}") };
        templates.push(keep(&left, &right, part));
    }
    templates
}

fn callees(buggy: &str) -> Vec<Template> {
    let is_callee = |c: char| !c.is_whitespace() && c != '(' && c != ')';
    let mut templates = Vec::new();
    for group in groups(buggy) {
        let start = group.before.trim_end_matches(is_callee).len();
        let (before, callee) = group.before.split_at(start);
        let after = format!("({}){}", group.inside, group.after);
        let occurs_once = buggy.matches(&format!("{callee}({})", group.inside)).count() == 1;
        if !callee.is_empty() && occurs_once {
            templates.push(Template::new(TemplateKind::Callee, before, &after, callee));
        }
    }
    templates
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The templates of one kind as `before|after`; a blank ends a token.
    fn check(buggy: &str, kind: TemplateKind) -> Vec<String> {
        let tokens: Vec<String> = buggy.trim_start().split_inclusive(' ').map(str::to_owned).collect();
        let templates = paper_templates(buggy, &tokens);
        let of_kind = templates.iter().filter(|template| template.kind == kind);
        of_kind.map(|template| format!("{}|{}", template.before, template.after)).collect()
    }

    #[test]
    fn tokens_are_kept_from_both_ends() {
        assert_eq!(check("    a b c", TemplateKind::PartialBefore), ["a |", "a b |", "a b c|"]);
        assert_eq!(check("    a b c", TemplateKind::PartialAfter), ["|c", "|b c", "|a b c"]);
    }

    #[test]
    fn a_condition_gets_another_one() {
        let line = "if (dataset != null) {";
        assert_eq!(
            check(line, TemplateKind::Condition),
            ["if (dataset != null &&|) {", "if (dataset != null |||) {"]
        );
        assert_eq!(check(line, TemplateKind::Arguments), ["if (|) {"]);
        assert!(check("while (a) {", TemplateKind::Condition).is_empty());
        assert!(check("if (a) {\n  b();", TemplateKind::Condition).is_empty());
    }

    #[test]
    fn a_call_keeps_some_of_its_arguments() {
        assert_eq!(
            check("foo(a, b);", TemplateKind::SeveralArguments),
            ["foo(|,a, b);", "foo(a, b,|);", "foo(|, b);", "foo(a,|);"]
        );
        assert_eq!(check("foo(a, b);", TemplateKind::Callee), ["|(a, b);"]);
        assert!(check("foo(a);", TemplateKind::SeveralArguments).is_empty());
    }

    #[test]
    fn a_group_that_occurs_twice_is_passed_over() {
        assert_eq!(check("x(a) + y(a) + z(b)", TemplateKind::Arguments), ["x(a) + y(a) + z(|)"]);
        assert_eq!(
            check("x(a) + y(a)", TemplateKind::Callee),
            ["|(a) + y(a)", "x(a) + |(a)"],
            "what counts here is the call with its name"
        );
        assert!(check("x()", TemplateKind::Arguments).is_empty());
    }

    #[test]
    fn every_stand_in_restores_the_text_where_it_can() {
        let text = "foo(a, b.c(d));";
        let tokens: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
        for template in paper_templates(text, &tokens) {
            let restored = format!("{}{}{}", template.before, template.stand_in, template.after);
            assert!(restored == text || restored.contains("null"), "{template:?}");
        }
    }

    #[test]
    fn what_is_left_goes_to_the_template_that_keeps_nothing() {
        // Chart-1 and Lang-6 of the paper: 17 and 40 templates.
        let quotas = paper_quotas(18, 5000);
        assert_eq!((quotas[0], quotas[17], quotas.iter().sum::<usize>()), (277, 291, 5000));
        let quotas = paper_quotas(41, 5000);
        assert_eq!((quotas[0], quotas[40]), (121, 160));
        assert_eq!(paper_quotas(1, 7), [7]);
    }

    #[test]
    fn an_empty_text_has_no_template() {
        let templates = paper_templates("", &[]);
        assert_eq!(templates.len(), 1);
        assert_eq!(templates[0].kind, TemplateKind::Whole);
    }
}
