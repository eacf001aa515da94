//! Checks and chores of the workspace: `cargo xtask <command>`.
//!
//! Owns what CI runs (`test`), the rules no compiler checks (`tidy`), the reference pages made from code
//! (`docs`), the pages of the guide that are run (`guide`) and the lint bans of each crate (`bans`). It ships with nothing.
#![allow(clippy::print_stdout, reason = "a command-line tool")]

mod bans;
mod build;
mod docs;
mod finding;
mod graph;
mod guide;
mod metadata;
mod repo;
mod steps;
mod tidy;

use build::Build;
use finding::Finding;
use repo::{Generated, Repo};
use std::process::ExitCode;

/// The help text, printed on request and after an unknown command.
const USAGE: &str = "\
cargo xtask test    everything CI runs: format, tidy, clippy, tests, doctests, rustdoc, built pages, guide, simulation, storm, load
cargo xtask tidy    the rules no compiler checks: crate graph, file heads and sizes, words, paths, docs
cargo xtask bench   what the runtime costs, as JSON; name rows to measure only those
cargo xtask storm   --kills N [--seed S] [--steady]: kill the real program at random moments, with a flaky provider
                    --load SECONDS [--clients N]: many clients send and follow while the host is killed every few seconds
cargo xtask planted N  plant each deliberate mistake of core and count the seeds until the simulation notices it
cargo xtask histories N  check the properties of prompts over N generated histories and N generated turns
cargo xtask docs    write docs/reference afresh
cargo xtask guide   run the first hour of the guide, and write its outputs and pictures afresh; needs tmux
                    --check: only say what differs
cargo xtask bans    write every clippy.toml afresh";

/// A chore failed as a whole; the text says why.
type Failure = String;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command: Vec<&str> = words.iter().map(String::as_str).collect();
    let repo = Repo::of_this_build();
    let outcome = match command.as_slice() {
        ["test"] => steps::run_all(&repo),
        ["tidy"] => tidy::check(&repo).map(|findings| report(&findings)),
        ["bench", rows @ ..] => steps::bench(&repo, rows),
        ["storm", words @ ..] => steps::storm(&repo, words),
        ["planted", seeds] => steps::planted(&repo, seeds),
        ["histories", number] => steps::histories(&repo, number),
        ["docs"] => write_pages(&repo),
        ["guide"] => write_guide(&repo),
        ["guide", "--check"] => steps::guide_check(&repo),
        ["bans"] => write_all(&repo, &bans::files(&repo)),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            println!("unknown command: {}\n\n{USAGE}", command.join(" "));
            Ok(ExitCode::from(2))
        }
    };
    outcome.unwrap_or_else(|failure| {
        println!("xtask: {failure}");
        ExitCode::FAILURE
    })
}

/// Prints findings one per line; notes do not fail.
fn report(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    if findings.iter().any(Finding::is_refusal) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// The pages made from sources first, so that they are written even while the program does not build.
fn write_pages(repo: &Repo) -> Result<ExitCode, Failure> {
    write_all(repo, &docs::pages(repo)?)?;
    write_all(repo, &docs::built_pages(repo)?)
}

fn write_guide(repo: &Repo) -> Result<ExitCode, Failure> {
    let build = Build::of(repo)?;
    write_all(repo, &guide::files(repo, &build.program("holon"))?)
}

/// Writes generated files, those that differ.
fn write_all(repo: &Repo, files: &[Generated]) -> Result<ExitCode, Failure> {
    for file in files {
        if repo.read(&file.path).ok().as_deref() != Some(&file.content) {
            repo.write(file)?;
            println!("wrote {}", file.path);
        }
    }
    Ok(ExitCode::SUCCESS)
}
