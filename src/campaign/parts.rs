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
    /// Samples of its own.
    pub quota: usize,
    /// Samples of all parts up to this one; what the earlier ones lack falls to it.
    pub until: usize,
    /// Draws after which it is given up; the last part is not.
    pub max_draws: Option<u64>,
}

/// Draws for each sample of a template. Most of what follows a kept `return x;`, say, compiles nowhere.
const DRAWS: usize = 20;

/// The parts in the order in which they are drawn.
pub fn parts(cloze: &Cloze, config: &Config, model: &dyn Model) -> Vec<Part> {
    if config.templates == TemplateMode::Off {
        let quota = config.samples;
        return vec![Part { cloze: cloze.clone(), template: None, quota, until: quota, max_draws: None }];
    }
    let templates = paper_templates(&cloze.original, &pieces(cloze.original.trim_start(), model));
    let quotas = paper_quotas(templates.len(), config.samples);
    let mut until = 0;
    let part = |(template, quota): (&Template, usize)| {
        until += quota;
        Part {
            cloze: template.cut(cloze),
            template: Some(template.kind),
            quota,
            until,
            max_draws: (template.kind != TemplateKind::Whole).then_some((quota * DRAWS) as u64),
        }
    };
    templates.iter().zip(quotas).map(part).collect()
}

/// Texts of a text's tokens. None if it cannot be spelt, or tokens cut its characters: then no tokens can be kept.
fn pieces(text: &str, model: &dyn Model) -> Vec<String> {
    let Ok(ids) = model.encode(text) else { return Vec::new() };
    let bytes = ids.iter().map(|&id| model.vocabulary().bytes(id).unwrap_or_default().to_vec());
    bytes.map(String::from_utf8).collect::<Result<_, _>>().unwrap_or_default()
}
