//! Files that `holon solve` leaves: `run.json`, `summary.md` and `manifest.json`, and the request as `solve.json`.

use super::request::SolveRequest;
use super::target::Target;
use crate::exit::{Exit, Failure};
use holon_client::Answer;
use holon_client::view::Run;
use serde::Serialize;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const RUN: &str = "run.json";
const SUMMARY: &str = "summary.md";
const MANIFEST: &str = "manifest.json";
const INPUT: &str = "solve.json";
/// Value of `provider` in the manifest.
const PROVIDER: &str = "holon-solve";

/// Directory of the artifacts.
#[derive(Debug)]
pub(super) struct Artifacts {
    dir: PathBuf,
}

/// Outcome of the work.
#[derive(Debug)]
pub(super) enum Outcome<'a> {
    /// The run ended, in whatever state.
    Ended(&'a Answer<Run>),
    /// There was no run.
    NotRun(&'a Failure),
}

/// Content of `manifest.json`, which programs read first.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    provider: &'static str,
    /// Final status of the run, or `failed` if there was none.
    status: &'a str,
    /// `success` only if the run was completed.
    outcome: &'static str,
    target_ref: &'a str,
    target: &'a Target,
    agent_id: &'a str,
    /// Name of the file with the whole answer; absent if there was no run.
    run_json: Option<&'static str>,
    /// Name of the file with the summary.
    summary: &'static str,
    /// Reason for which there was no run.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Artifacts {
    /// Opens the directory, which is made if it does not exist. Without one a new temporary directory is made.
    pub(super) fn open(dir: Option<&Path>) -> Result<Self, Failure> {
        let opened = match dir {
            Some(dir) => fs::create_dir_all(dir)
                .and_then(|()| dir.canonicalize())
                .map_err(|error| refused(dir, &error)),
            None => tempfile::Builder::new()
                .prefix("holon-output-")
                .tempdir()
                .map(tempfile::TempDir::keep)
                .map_err(|error| refused(Path::new("a temporary directory"), &error)),
        };
        Ok(Self { dir: opened? })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the three files. Files of an earlier run are replaced; the manifest comes last, so it never speaks of
    /// files that are not there.
    pub(super) fn write(
        &self,
        request: &SolveRequest,
        outcome: &Outcome<'_>,
    ) -> Result<(), Failure> {
        self.remove(MANIFEST)?;
        let (status, text, error) = match outcome {
            Outcome::Ended(run) => {
                put_json(&self.dir, RUN, run)?;
                (run.final_status.as_str(), run.final_text.as_str(), None)
            }
            Outcome::NotRun(failure) => {
                self.remove(RUN)?;
                ("failed", "", Some(failure.body.error.as_str()))
            }
        };
        let text = error.unwrap_or(text).trim();
        let reference = &request.target_ref;
        let summary = format!("# {reference}\n\nStatus: {status}\n\n{text}\n");
        put(&self.dir, SUMMARY, summary.as_bytes())?;
        let manifest = Manifest {
            provider: PROVIDER,
            status,
            outcome: if status == "completed" {
                "success"
            } else {
                "incomplete"
            },
            target_ref: reference,
            target: &request.target,
            agent_id: &request.agent_id,
            run_json: error.is_none().then_some(RUN),
            summary: SUMMARY,
            error,
        };
        put_json(&self.dir, MANIFEST, &manifest)
    }

    /// Removes a file of an earlier run.
    fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(refused(&path, &error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Writes the request where the agent reads it.
pub(super) fn write_input(dir: &Path, request: &SolveRequest) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|error| refused(dir, &error))?;
    put_json(dir, INPUT, request)
}

fn put_json<T: Serialize>(dir: &Path, name: &str, value: &T) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value);
    let mut text = text.map_err(|error| refused(&dir.join(name), &error.into()))?;
    text.push(b'\n');
    put(dir, name, &text)
}

/// Replaces a file whole. A link in its place is replaced and not followed.
fn put(dir: &Path, name: &str, content: &[u8]) -> Result<(), Failure> {
    let path = dir.join(name);
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|failed| failed.error)
    });
    written.map(drop).map_err(|error| refused(&path, &error))
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{}: {error}", path.display());
    Failure::new(Exit::Failed, "artifacts_not_written", message)
}
