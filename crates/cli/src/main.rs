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
use crate::output::{Format, Output};
use clap::Parser as _;
use std::io::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = holon_process::shim_main(std::env::args_os()) {
        return exit;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(said) => {
            // Help and version come this way too; clap knows which stream and which code each deserves.
            if said.use_stderr() {
                Output::new(Format::Text).complain(&said);
                return Exit::Usage.into();
            }
            let printed = said.print();
            return match printed {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    let failure = output::unwritten(&error);
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
