//! Owned elsewhere until merged.
