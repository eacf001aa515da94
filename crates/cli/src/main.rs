//! Entry of the `holon` command: parse, dispatch, exit. Starts nothing before the command line is understood.
//!
//! The same program is the shim that commands run under, which is decided before anything else.

mod applied;
mod args;
mod command;
mod exit;
mod host;
mod output;
mod path;
mod render;
mod report;
mod secret;
mod settings;

use crate::args::Args;
use crate::exit::Exit;
use crate::output::Output;
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = holon_process::shim_main(std::env::args_os()) {
        return exit;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(said) => {
            // Help and version come this way too; clap knows which stream and which code each deserves.
            let exit = if said.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            // Nobody is left to tell if even that cannot be printed.
            drop(said.print());
            return exit.into();
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
