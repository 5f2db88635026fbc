//! The holes that share one bug's samples: that of all buggy lines, and before it those of templates.

use crate::cloze::Cloze;
use crate::cloze::template::{Template, TemplateKind, paper_quotas, paper_templates};
use crate::config::Config;
use crate::config::flags::TemplateMode;
use crate::model::Model;

/// A part of the drawing: a hole to fill until so many samples are there.
pub struct Part {
    /// The hole.
    pub cloze: Cloze,
    /// What it keeps of the buggy lines; `None` without templates.
    pub template: Option<TemplateKind>,
    /// Samples of all parts up to this one; what the earlier ones lack falls to it.
    pub until: usize,
}

/// The parts in the order in which they are drawn.
pub fn parts(cloze: &Cloze, config: &Config, model: &dyn Model) -> Vec<Part> {
    if config.templates == TemplateMode::Off {
        return vec![Part { cloze: cloze.clone(), template: None, until: config.samples }];
    }
    let templates = paper_templates(&cloze.original, &pieces(cloze.original.trim_start(), model));
    let quotas = paper_quotas(templates.len(), config.samples);
    let until = quotas.iter().scan(0, |sum, quota| {
        *sum += quota;
        Some(*sum)
    });
    let part = |(template, until): (&Template, usize)| Part {
        cloze: template.cut(cloze),
        template: Some(template.kind),
        until,
    };
    templates.iter().zip(until).map(part).collect()
}

/// Texts of a text's tokens. None if it cannot be spelt, or tokens cut its characters: then no tokens can be kept.
fn pieces(text: &str, model: &dyn Model) -> Vec<String> {
    let Ok(ids) = model.encode(text) else { return Vec::new() };
    let bytes = ids.iter().map(|&id| model.vocabulary().bytes(id).unwrap_or_default().to_vec());
    bytes.map(String::from_utf8).collect::<Result<_, _>>().unwrap_or_default()
}
