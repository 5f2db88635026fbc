//! Parse, dispatch, exit code; one file per subcommand.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::config::Environment;
use crate::config::flags::{Cli, Command, Flags};
use crate::console::{Console, Loudness};
use crate::process::Interrupt;

mod apply;
mod bugs;
mod campaign;
mod chunk;
mod diff_runs;
mod doctor;
mod exit;
mod index;
mod judge;
mod models;
mod repair;
mod replay;
mod report;
mod validate;

pub use exit::Exit;

/// What to do about a part of the environment.
const SEE_DOCTOR: &str = "; `repair doctor` shows every part and what mends it";

/// Runs the program with the words of its command line. `here` is the working directory, `None` if it is gone.
pub fn main(words: impl IntoIterator<Item = std::ffi::OsString>, here: Option<&Path>) -> Exit {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let is_asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // A closed pipe is no error of ours.
            let _closed = error.print();
            return if is_asked_for { Exit::Success } else { Exit::Usage };
        }
    };
    let mut console = Console::new(loudness(&cli.repair));
    let result = run(&cli, here, &mut console);
    console.clear();
    result.unwrap_or_else(|error| {
        let exit = Exit::of(&error);
        console.error(&error, if exit == Exit::Environment { SEE_DOCTOR } else { "" });
        exit
    })
}

fn run(cli: &Cli, here: Option<&Path>, console: &mut Console) -> anyhow::Result<Exit> {
    let environment = Environment::read();
    let interrupt = interrupt()?;
    match &cli.command {
        Some(Command::Bugs(flags)) => bugs::run(flags, &environment, here, console),
        Some(Command::Chunk(flags)) => chunk::run(flags, here, console),
        Some(Command::Doctor(flags)) => doctor::run(flags, &environment, here, &interrupt, console),
        Some(Command::Index(flags)) => index::index(flags, &environment, here, console),
        Some(Command::Search(flags)) => index::find(flags, &environment, here, console),
        Some(Command::Models(flags)) => models::run(flags, &environment, console),
        Some(Command::Replay(flags)) => replay::run(flags, &environment, here, &interrupt, console),
        Some(Command::Validate(flags)) => validate::run(flags, &environment, here, &interrupt, console),
        Some(Command::Campaign(flags)) => campaign::run(flags, &environment, here, &interrupt, console),
        Some(Command::Apply(flags)) => apply::run(flags, here, console),
        Some(Command::Judge(flags)) => judge::run(flags, &environment, here, console),
        Some(Command::DiffRuns(flags)) => diff_runs::run(flags, here, console),
        Some(Command::Report(flags)) => report::run(flags, here, console),
        None => repair::run(&cli.repair, &environment, here, &interrupt, console),
    }
}

fn loudness(flags: &Flags) -> Loudness {
    match (flags.quiet, flags.verbose) {
        (true, _) => Loudness::Quiet,
        (_, true) => Loudness::Verbose,
        _ => Loudness::Normal,
    }
}

/// The first Ctrl-C or TERM asks every stage to stop, the second one ends the process.
fn interrupt() -> anyhow::Result<Interrupt> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(Exit::Interrupted as u8),
            Arc::clone(&flag),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(Interrupt::from_flag(flag))
}
