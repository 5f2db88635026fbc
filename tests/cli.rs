//! The command as its users meet it: exit code, stdout and stderr, the run directory, the user's tree.

#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/benchmarks.rs"]
mod benchmarks;
#[path = "cli/campaigns.rs"]
mod campaigns;
#[path = "cli/chunks.rs"]
mod chunks;
#[path = "cli/indexes.rs"]
mod indexes;
#[path = "cli/models.rs"]
mod models;
#[path = "cli/patches.rs"]
mod patches;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/validation.rs"]
mod validation;
#[path = "cli/whole_runs.rs"]
mod whole_runs;
