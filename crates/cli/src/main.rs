//! Entry point of the `holon` command: parses the command line, runs the command, and exits.
//!
//! The same program is the shim that commands run under. That is decided before the command line is parsed.

mod addressing;
mod args;
mod blocked_output;
mod command;
mod error_codes;
mod exit;
mod host;
mod host_plan;
mod live;
mod output;
mod paint;
mod path;
mod progress;
mod reload;
mod render;
mod report;
mod secret;
mod settings;
mod target;
mod wrap;

use crate::args::Args;
use crate::exit::Exit;
use crate::output::{Format, Output};
use clap::Parser as _;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Returns the format of a command line that could not be parsed.
fn format_asked_for() -> Format {
    let mut options = std::env::args_os().take_while(|arg| arg != "--");
    if options.any(|arg| arg == "--json") {
        Format::Json
    } else {
        Format::Text
    }
}

fn main() -> ExitCode {
    if let Some(exit) = holon_process::shim_main(std::env::args_os()) {
        return exit;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(said) => {
            // Help and version arrive here too; clap knows the stream and exit code of each.
            if said.use_stderr() {
                Output::new(format_asked_for()).complain(&said);
                return Exit::Usage.into();
            }
            return match said.print() {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    let failure = output::output_failure(&error);
                    Output::new(Format::Text).failure(&failure);
                    failure.exit.into()
                }
                Err(_) | Ok(()) => Exit::Done.into(),
            };
        }
    };
    let output = Output::new(args.format());
    match command::run(args, &output) {
        Ok(exit) => output.exit(exit).into(),
        Err(failure) => {
            output.failure(&failure);
            failure.exit.into()
        }
    }
}
