//! What the rest of the project says: chunks for the prompt, n-grams for the prior.

use std::convert::Infallible;
use std::path::Path;

use crate::cloze::Cloze;
use crate::java::project::Project;
use crate::model::Model;
use crate::retrieval::{Exclusion, Index, Prior, Query, Source, SourcesError, Visible, pack, read_sources};
use crate::text;

/// Chunks looked at before packing.
const HITS: usize = 60;
/// Tokens of retrieved chunks in a prompt.
const CONTEXT_TOKENS: usize = 380;
/// Bytes before and after the hole that the prompt of a small model shows anyway.
const SHOWN: usize = 1500;

/// The project's main sources, read once.
pub struct Surroundings {
    sources: Vec<Source>,
    path: String,
    /// The hole in the text of its file.
    hole: std::ops::Range<usize>,
}

impl Surroundings {
    /// Reads the sources as the file with the hole was read.
    pub fn of(project: &Project, file: &Path, cloze: &Cloze) -> Result<Self, SourcesError> {
        let decode = |bytes: &[u8]| match text::Source::new(bytes.to_vec(), &project.encoding) {
            Ok(source) => source.text(0..bytes.len()),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
        let start = cloze.prefix.len();
        let mut sources = read_sources(&project.root, &project.sources, &decode)?;
        // What stands beside it in other languages fills no hole in Java.
        sources.retain(|source| Path::new(&source.path).extension().is_some_and(|kind| kind == "java"));
        Ok(Self {
            sources,
            path: file
                .components()
                .map(|part| part.as_os_str().to_string_lossy())
                .collect::<Vec<_>>()
                .join("/"),
            hole: start..start + cloze.original.len(),
        })
    }

    fn exclusion(&self) -> Exclusion<'_> {
        Exclusion { path: &self.path, bytes: self.hole.clone() }
    }

    /// Chunks that resemble the hole's surroundings, best first, with their citations.
    pub fn chunks(&self, cloze: &Cloze, model: &dyn Model) -> Vec<(String, String)> {
        let index = Index::build(self.sources.iter().cloned(), &[self.exclusion()]);
        let hits = index.search(&Query::from_hole(&cloze.prefix, &cloze.original, &cloze.suffix), HITS);
        let visible = Visible {
            path: &self.path,
            first_byte: self.hole.start.saturating_sub(SHOWN),
            end_byte: self.hole.end + SHOWN / 3,
        };
        // A text that the tokenizer refuses is as long as its bytes.
        let count = |text: &str| model.encode(text).map_or(text.len(), |ids| ids.len());
        let chosen = pack(&hits, CONTEXT_TOKENS, Some(visible), &count);
        chosen.into_iter().map(|chunk| (chunk.citation(), chunk.text.clone())).collect()
    }

    /// The project's n-grams, without the hole's own text. A file that the model's tokenizer cannot spell adds nothing.
    pub fn prior(&self, model: &dyn Model) -> Prior {
        let mut encode = |text: &str| Ok::<_, Infallible>(model.encode(text).unwrap_or_default());
        let Ok(prior) = Prior::of_sources(&self.sources, &[self.exclusion()], &mut encode);
        prior
    }
}
