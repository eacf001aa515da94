//! `holon man-pages`: a manual page for each command, made from the same text as `--help`.
//!
//! The pages are written in a directory of their own and then moved. So a name that is a link or a pipe already is replaced,
//! and nothing is written through it.

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::CommandFactory as _;
use std::path::Path;
use std::{fs, io};

/// Writes the pages into a directory.
pub(super) fn run(directory: &Path, output: &Output) -> Result<Exit, Failure> {
    write_pages(directory).map_err(|error| {
        let message = format!("{} could not be written: {error}", directory.display());
        Failure::new(Exit::Failed, "file_unwritable", message)
    })?;
    let shown = directory.display().to_string();
    output.answer(&shown, |shown| format!("wrote the pages to {shown}"));
    Ok(Exit::Done)
}

fn write_pages(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let fresh = tempfile::Builder::new()
        .prefix(".holon-man-pages-")
        .tempdir_in(directory)?;
    clap_mangen::generate_to(Args::command(), &fresh)?;
    for page in fs::read_dir(&fresh)? {
        let page = page?;
        fs::rename(page.path(), directory.join(page.file_name()))?;
    }
    fresh.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use clap::Command;

    /// Checks the page of a command and those of all commands below it; returns their number.
    fn check(command: &Command, name: &str, directory: &Path) -> usize {
        let page = fs::read_to_string(directory.join(format!("{name}.1")));
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
        let written = fs::read_dir(directory.path()).unwrap().count();
        assert!(checked > 100, "{checked} commands are checked");
        assert!(checked <= written, "{checked} of {written}");
    }

    #[test]
    fn a_link_or_a_pipe_under_the_name_of_a_page_is_replaced_and_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let page = |name: &str| directory.path().join(name);
        std::os::unix::fs::symlink(outside.path(), page("holon.1")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let here = rustix::fs::CWD;
        rustix::fs::mknodat(here, page("holon-run.1"), fifo, mode, 0).unwrap();
        let output = Output::new(Format::Json);
        assert_eq!(run(directory.path(), &output).unwrap(), Exit::Done);
        assert_eq!(fs::read(outside.path()).unwrap(), b"");
        for name in ["holon.1", "holon-run.1"] {
            assert!(page(name).symlink_metadata().unwrap().is_file(), "{name}");
        }
        let names = fs::read_dir(directory.path()).unwrap();
        let hidden = |name: &std::ffi::OsString| name.to_string_lossy().starts_with('.');
        let left: Vec<_> = names
            .map(|one| one.unwrap().file_name())
            .filter(hidden)
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
