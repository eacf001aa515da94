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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use clap::Command;

    /// Checks the page of a command and those of all commands below it; returns their number.
    fn check(command: &Command, name: &str, directory: &Path) -> usize {
        let page = std::fs::read_to_string(directory.join(format!("{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name} has no page: {error}"));
        let page = page.replace("\\-", "-");
        assert!(page.contains(&format!(".TH {name} 1")), "{name}: {page}");
        let about = command.get_about().map(ToString::to_string);
        let about = about.unwrap_or_else(|| panic!("{name} says nothing about itself"));
        let first: String = about
            .split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ");
        assert!(page.contains(&first), "{name}: {first:?} is not in {page}");
        for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
            if let Some(long) = argument.get_long() {
                let long = format!("--{long}");
                assert!(page.contains(&long), "{name}: {long} is not in {page}");
            }
        }
        let below = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set() && one.get_name() != "help");
        let below = below.map(|one| check(one, &format!("{name}-{}", one.get_name()), directory));
        1 + below.sum::<usize>()
    }

    #[test]
    fn every_command_of_the_parser_has_a_page_with_its_purpose_and_options() {
        let directory = tempfile::tempdir().unwrap();
        let output = Output::new(Format::Json);
        assert_eq!(run(directory.path(), &output).unwrap(), Exit::Done);
        let mut root = Args::command();
        root.build();
        let checked = check(&root, "holon", directory.path());
        let written = std::fs::read_dir(directory.path()).unwrap().count();
        assert!(checked > 100, "{checked} commands are checked");
        assert!(checked <= written, "{checked} of {written}");
    }
}
