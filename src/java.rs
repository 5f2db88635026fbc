//! The Java language as far as a repair tool must know it without a compiler: lexemes and the shape of a project.

pub mod holes;
pub mod keyword;
pub mod lexemes;
pub mod lexer;
pub mod project;
pub mod recorded;
pub mod test_id;
