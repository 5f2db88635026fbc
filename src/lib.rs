//! `repair` writes patches for buggy Java programs: an infilling model fills the hole where the buggy hunk was, a Java
//! language server decides which continuations can still compile, and the project's tests judge the result.
//!
//! Modules in reading order, lowest layer first. A module names only modules of lower layers.

// 0 base: no domain knowledge
pub mod digest;
pub mod process;
pub mod text;

// 1 domain: no I/O
pub mod bug;
pub mod cloze;
pub mod java;
pub mod patch;
pub mod token;

// 2 means: each wraps one outside thing; siblings do not know each other
pub mod build;
pub mod defects4j;
pub mod engine;
pub mod model;
pub mod programs;
pub mod retrieval;

// 3 core
pub mod decode;
pub mod validate;

// 4 run
pub mod campaign;
pub mod record;
pub mod report;

// 5 shell
pub mod cli;
pub mod config;
pub mod console;
