//! The page of refusals: every error code of the control plane, as the server lists them.
//!
//! The list takes a build of the server, so it is checked with the other pages that need one and not by `tidy`.

use super::page;
use crate::Failure;
use crate::repo::{Generated, Repo};
use std::process::{Command, Stdio};

/// The page, as the server's example prints it.
pub(crate) fn generate(repo: &Repo) -> Result<Generated, Failure> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--package", "holon-server"])
        .args(["--example", "refusals"])
        .current_dir(repo.root())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the list of refusals cannot be printed: {said}"));
    }
    let body = String::from_utf8_lossy(&output.stdout);
    Ok(page("refusals", &body))
}
