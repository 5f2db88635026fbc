//! The `repair` command.

use repair::cli;

fn main() -> std::process::ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the one place that learns where the user stands")]
    let here = std::env::current_dir().ok();
    cli::main(std::env::args_os(), here.as_deref()).into()
}
