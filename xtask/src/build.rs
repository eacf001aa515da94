//! One build of the whole workspace, whose programs every later step runs.
//!
//! Building one package alone resolves other features for its dependencies and compiles most of them again. Every step
//! therefore takes its program from the build that the tests use.

use crate::Failure;
use crate::repo::Repo;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Turned on wherever the product is built for tests, so that crash tests can name their points.
pub(crate) const FEATURES: [&str; 2] = ["--features", "holon-cli/crash-points"];

/// The folder of a finished debug build.
pub(crate) struct Build {
    folder: PathBuf,
}

impl Build {
    /// Builds every target of the workspace, or finds that it is up to date.
    pub(crate) fn of(repo: &Repo) -> Result<Self, Failure> {
        let status = Command::new("cargo")
            .args(["build", "--quiet", "--workspace", "--all-targets"])
            .args(FEATURES)
            .current_dir(repo.root())
            .status()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            return Err("the workspace does not build".to_owned());
        }
        let folder = repo.root().join("target/debug");
        Ok(Self { folder })
    }

    /// Path of a program of the workspace.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Path of an example of the workspace.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        self.folder.join("examples").join(name)
    }
}

/// Runs a built program without input and returns what it printed.
pub(crate) fn printed(
    program: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<String, Failure> {
    let output = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{} {} failed: {errors}",
        program.display(),
        arguments.join(" ")
    ))
}
