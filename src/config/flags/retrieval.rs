//! Flags of the commands that cut, index and search sources.

use std::path::PathBuf;

use clap::Args;

use super::{Format, Switch};
use crate::bug::Location;
use crate::retrieval::CHUNK_SIZE;

/// Flags of `repair chunk`.
#[derive(Debug, Args)]
pub struct ChunkFlags {
    /// Files of any kind, or directories, of which the files in a known language are taken
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Largest chunk in characters that are not white space
    #[arg(long, value_name = "N", default_value_t = CHUNK_SIZE)]
    pub max_size: usize,
    /// Put comment lines with file and scopes before each chunk
    #[arg(long)]
    pub header: bool,
    /// Show so many lines of the file before and after each chunk, too
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    pub overlap: usize,
    /// How the chunks are written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Flags of `repair index`.
#[derive(Debug, Args)]
pub struct IndexFlags {
    /// The directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Largest chunk in characters that are not white space
    #[arg(long, value_name = "N", default_value_t = CHUNK_SIZE)]
    pub max_size: usize,
    /// Where the index is
    #[command(flatten)]
    pub store: StoreFlags,
    /// How the figures are written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Flags of `repair search`.
#[derive(Debug, Args)]
pub struct SearchFlags {
    /// Words, names or code
    #[arg(value_name = "QUERY", required_unless_present = "at", conflicts_with = "at")]
    pub query: Option<String>,
    /// Lines whose surroundings are searched for; nothing that holds them is found: `FILE:LINE` or `FILE:FIRST-LAST`
    #[arg(long, value_name = "FILE:LINES")]
    pub at: Option<Location>,
    /// The directory that was indexed
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// Chunks to show
    #[arg(short, value_name = "N", default_value_t = 10)]
    pub n: usize,
    /// Where the index is
    #[command(flatten)]
    pub store: StoreFlags,
    /// How the chunks are written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Which index is meant, and whether meaning counts.
#[derive(Debug, Args)]
pub struct StoreFlags {
    /// Name of the repository in the index [default: the directory's path]
    #[arg(long, value_name = "NAME", help_heading = "Index")]
    pub repository: Option<String>,
    /// Name of the revision in the index
    #[arg(long, value_name = "NAME", default_value = "current", help_heading = "Index")]
    pub revision: String,
    /// Embed chunks and queries, and search by meaning, too
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "off", help_heading = "Index")]
    pub dense: Switch,
    /// Directory of the embedding model, a BERT checkpoint [default: all-MiniLM-L6-v2 below the cache]
    #[arg(long, value_name = "DIR", help_heading = "Index")]
    pub embedder: Option<PathBuf>,
}
