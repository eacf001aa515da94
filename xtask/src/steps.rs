//! What CI runs, in order, fast first; every step runs even when one before it failed, so one run tells all.

use crate::build::{Build, FEATURES};
use crate::repo::Repo;
use crate::{Failure, docs, guide, report, tidy};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Fixed seeds the simulation plays on every run. They follow those that the tests play, so that none is played twice.
const SEEDS: &str = "80";
const FIRST_SEED: &str = "640";
/// Kills of the storm on every run; its seed is another each time, and printed.
const KILLS: &str = "15";
/// Seconds of load on every run, while the host is killed every few of them.
const LOAD_SECONDS: &str = "15";

/// The outcome of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
}

/// A step that is over.
struct Done {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Runs every step and prints what came of each.
pub(crate) fn run_all(repo: &Repo) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let done = [
        timed("format", || cargo(repo, &["fmt", "--all", "--check"])),
        timed("tidy", || {
            let code = report(&tidy::check(repo)?);
            Ok(passed(code == ExitCode::SUCCESS))
        }),
        timed("clippy", || clippy(repo)),
        timed("tests", || tests(repo)),
        timed("doctests", || doctests(repo)),
        timed("rustdoc", || rustdoc(repo)),
        timed("built pages", || built_pages(repo)),
        timed("guide", || check_guide(repo)),
        timed("simulation", || simulation(repo)),
        timed("storm", || run_storm(repo, &["--kills", KILLS])),
        timed("load", || run_storm(repo, &["--load", LOAD_SECONDS])),
    ];
    println!("\n{:<14} {:<8} seconds", "step", "outcome");
    for step in &done {
        let word = match step.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
        };
        println!(
            "{:<14} {word:<8} {:7.1}",
            step.name,
            step.took.as_secs_f64()
        );
    }
    println!(
        "{:<14} {:<8} {:7.1}",
        "all",
        "",
        started.elapsed().as_secs_f64()
    );
    let failed = done.iter().any(|step| step.outcome == Outcome::Failed);
    Ok(ExitCode::from(u8::from(failed)))
}

/// Builds the product as it ships and measures it; the figures go to stdout.
pub(crate) fn bench(repo: &Repo, rows: &[&str]) -> Result<ExitCode, Failure> {
    let build = [
        "build",
        "--release",
        "--package",
        "holon-cli",
        "--package",
        "holon-bench",
    ];
    if cargo(repo, &build)? == Outcome::Failed {
        return Ok(ExitCode::FAILURE);
    }
    let built = repo.root().join("target/release");
    let mut command = Command::new(built.join("holon-bench"));
    command.arg(built.join("holon")).args(rows);
    let outcome = run(repo, command)?;
    Ok(ExitCode::from(u8::from(outcome == Outcome::Failed)))
}

/// Builds the simulation with the deliberate mistakes and plays up to this many seeds with each; the table goes to
/// stdout.
pub(crate) fn planted(repo: &Repo, seeds: &str) -> Result<ExitCode, Failure> {
    let words = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "holon-sim",
        "--features",
        "planted",
        "--",
        "--planted",
        seeds,
    ];
    let outcome = cargo(repo, &words)?;
    Ok(ExitCode::from(u8::from(outcome == Outcome::Failed)))
}

/// Runs the properties of prompts over this many generated histories and turns, many more than the tests do. Optimised,
/// because a hundred thousand take half an hour otherwise.
pub(crate) fn histories(repo: &Repo, number: &str) -> Result<ExitCode, Failure> {
    if number.parse::<u32>().is_err() {
        return Err(format!("{number:?} is no number of histories"));
    }
    let mut command = Command::new("cargo");
    command
        .args([
            "test",
            "--release",
            "--package",
            "holon-prompt",
            "--test",
            "it",
        ])
        .arg("--")
        .args(["properties::", "histories::"])
        .env("HOLON_PROMPT_HISTORIES", number)
        .env("HOLON_HISTORIES", number);
    let outcome = run(repo, command)?;
    Ok(ExitCode::from(u8::from(outcome == Outcome::Failed)))
}

/// Builds the product as the tests do and kills it at random moments; the figures go to stdout.
pub(crate) fn storm(repo: &Repo, words: &[&str]) -> Result<ExitCode, Failure> {
    let outcome = run_storm(repo, words)?;
    Ok(ExitCode::from(u8::from(outcome == Outcome::Failed)))
}

/// Runs the pages of the guide that are scripts, and says which of them differ from those that stand there.
pub(crate) fn guide_check(repo: &Repo) -> Result<ExitCode, Failure> {
    let outcome = check_guide(repo)?;
    Ok(ExitCode::from(u8::from(outcome == Outcome::Failed)))
}

fn run_storm(repo: &Repo, words: &[&str]) -> Result<Outcome, Failure> {
    let build = Build::of(repo)?;
    let mut command = Command::new(build.program("holon-storm"));
    command.arg(build.program("holon")).args(words);
    run(repo, command)
}

/// Runs one step; a step that could not run has failed.
fn timed(name: &'static str, step: impl FnOnce() -> Result<Outcome, Failure>) -> Done {
    println!("== {name}");
    let started = Instant::now();
    let outcome = step().unwrap_or_else(|failure| {
        println!("{name}: {failure}");
        Outcome::Failed
    });
    Done {
        name,
        outcome,
        took: started.elapsed(),
    }
}

const fn passed(yes: bool) -> Outcome {
    if yes {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}

fn clippy(repo: &Repo) -> Result<Outcome, Failure> {
    let mut words = vec!["clippy", "--workspace", "--all-targets"];
    words.extend(FEATURES);
    words.extend(["--", "-D", "warnings"]);
    cargo(repo, &words)
}

/// With nextest where it is installed; the tests are the same without. Most tests wait for processes more than they
/// compute, so that each core runs two.
fn tests(repo: &Repo) -> Result<Outcome, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = (2 * cores).to_string();
    let runner: &[&str] = if has_nextest() {
        &[
            "nextest",
            "run",
            "--no-fail-fast",
            "--workspace",
            "--test-threads",
            &at_once,
        ]
    } else {
        &[
            "test",
            "--no-fail-fast",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
        ]
    };
    let words: Vec<&str> = runner.iter().copied().chain(FEATURES).collect();
    cargo(repo, &words)
}

fn has_nextest() -> bool {
    Command::new("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs the examples in docs. A crate without one says so in its manifest, because rustdoc reads it for nothing
/// otherwise. All crates are selected: a selection of its own would compile their dependencies again.
fn doctests(repo: &Repo) -> Result<Outcome, Failure> {
    let texts = repo.texts()?;
    let manifest = |name: &str| format!("crates/{name}/Cargo.toml");
    let skipped = texts
        .iter()
        .filter(|source| source.path.ends_with(".rs") && has_example(&source.text))
        .filter_map(|source| source.path.strip_prefix("crates/")?.split_once("/src/"))
        .map(|(name, _)| manifest(name))
        .find(|path| {
            let found = texts.iter().find(|source| source.path == *path);
            found.is_some_and(|source| source.text.contains("doctest = false"))
        });
    if let Some(path) = skipped {
        println!("{path}: a crate with an example in its docs must not set `doctest = false`");
        return Ok(Outcome::Failed);
    }
    let mut words = vec!["test", "--doc", "--workspace"];
    words.extend(FEATURES);
    cargo(repo, &words)
}

/// Returns true if a doc comment opens a block of Rust.
fn has_example(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        let words = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        matches!(
            words.map(str::trim),
            Some("```" | "```rust" | "```no_run" | "```should_panic")
        )
    })
}

fn rustdoc(repo: &Repo) -> Result<Outcome, Failure> {
    let mut command = Command::new("cargo");
    command
        .args([
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
            "--quiet",
        ])
        .args(FEATURES)
        .env("RUSTDOCFLAGS", "-D warnings");
    run(repo, command)
}

fn built_pages(repo: &Repo) -> Result<Outcome, Failure> {
    let findings = tidy::stale(repo, docs::built_pages(repo)?, "cargo xtask docs");
    Ok(passed(report(&findings) == ExitCode::SUCCESS))
}

/// Runs the pages of the guide that are scripts; they must be what was committed.
fn check_guide(repo: &Repo) -> Result<Outcome, Failure> {
    let build = Build::of(repo)?;
    let files = guide::files(repo, &build.program("holon"))?;
    for file in &files {
        let committed = repo.read(&file.path).unwrap_or_default();
        if let Some((line, expected, found)) = first_difference(&committed, &file.content) {
            println!("{}:{line}: stands there: {expected}", file.path);
            println!("{}:{line}: printed now:  {found}", file.path);
        }
    }
    let findings = tidy::stale(repo, files, "cargo xtask guide");
    Ok(passed(report(&findings) == ExitCode::SUCCESS))
}

/// The first line that differs, by its number, with both of its texts.
fn first_difference<'a>(one: &'a str, other: &'a str) -> Option<(usize, &'a str, &'a str)> {
    let (mut ones, mut others) = (one.lines(), other.lines());
    (1..).find_map(|number| match (ones.next(), others.next()) {
        (None, None) => Some(None),
        (one, other) if one != other => Some(Some((
            number,
            one.unwrap_or("nothing"),
            other.unwrap_or("nothing"),
        ))),
        _ => None,
    })?
}

fn simulation(repo: &Repo) -> Result<Outcome, Failure> {
    let mut command = Command::new(Build::of(repo)?.program("holon-sim"));
    command.args(["--from", FIRST_SEED, "--seeds", SEEDS]);
    run(repo, command)
}

fn cargo(repo: &Repo, words: &[&str]) -> Result<Outcome, Failure> {
    let mut command = Command::new("cargo");
    command.args(words);
    run(repo, command)
}

fn run(repo: &Repo, mut command: Command) -> Result<Outcome, Failure> {
    let status = command
        .current_dir(repo.root())
        .status()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    Ok(passed(status.success()))
}

#[cfg(test)]
mod tests {
    use super::{first_difference, has_example};

    #[test]
    fn the_first_line_that_differs_is_found_also_behind_the_end_of_a_text() {
        for (one, other, expected) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\nd\n", Some((2, "b", "c"))),
            ("a\n", "a\nb\n", Some((2, "nothing", "b"))),
        ] {
            assert_eq!(first_difference(one, other), expected);
        }
    }

    #[test]
    fn only_blocks_of_rust_count_as_examples() {
        for (text, expected) in [
            ("/// ```\n/// let x = 1;\n/// ```", true),
            ("//! ```no_run", true),
            ("/// ```text\n/// not code", false),
            ("let fence = \"```\";", false),
        ] {
            assert_eq!(has_example(text), expected, "{text}");
        }
    }
}
