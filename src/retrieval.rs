//! What the project's own code tells about a hole: chunks of its sources that the prompt shows, and a prior over the next
//! token.
//!
//! Texts come in; nothing is read but by `sources`. Whoever builds an [`Index`] or a [`Prior`] for a hole names the hole
//! first, as an [`Exclusion`]: its own text is never in what is built.
//!
//! `chunk` (cAST) and `grammar` cut files, `piece` says where the parts lie, `terms` reads names, `query` weighs the terms
//! around a hole, `rank` scores chunks (BM25), `pack` chooses among them within a budget; `prior` is the nested cache of
//! n-grams. `store` keeps chunks and vectors, `refresh` brings them up to date, `hybrid` fuses ranks by words and by
//! meaning. Prompts are filled by words alone: whether meaning helps there has not been measured. Absent by design:
//! version control data, fixed versions, any knowledge of models.

mod chunk;
mod grammar;
mod hybrid;
mod index;
mod pack;
mod piece;
mod prior;
mod query;
mod rank;
mod refresh;
mod sources;
mod store;
mod terms;

pub use hybrid::{Densely, Found, Lexically, search};
pub use index::{CHUNK_SIZE, Chunk, Exclusion, Hit, Index, Source, chunk_source};
pub use pack::{Visible, pack};
pub use piece::{Cut, Piece, cut, header, overlap};
pub use prior::{Nearness, Prediction, Prior};
pub use query::Query;
pub use refresh::{Embed, Refreshed, embed_missing, refresh};
pub use sources::{SourcesError, read, read_sources, source_files};
pub use store::{Digest, Embedded, IndexedFile, Snapshot, Store, StoreError, Update};
