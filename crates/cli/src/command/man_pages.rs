//! `holon man-pages`: a manual page for each command, made from the same text as `--help`.

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::CommandFactory as _;
use std::path::Path;

/// Writes the pages into a directory.
pub(super) fn run(directory: &Path, output: &Output) -> Result<Exit, Failure> {
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Args::command(), directory));
    written.map_err(|error| {
        let message = format!("{} could not be written: {error}", directory.display());
        Failure::new(Exit::Failed, "file_unwritable", message)
    })?;
    let shown = directory.display().to_string();
    output.answer(&shown, |shown| format!("wrote the pages to {shown}"));
    Ok(Exit::Done)
}
