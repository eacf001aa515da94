//! The page of refusals: every error code of the control plane, as the server lists them.
//!
//! The list takes a build of the server, so it is checked with the other pages that need one and not by `tidy`.

use super::page;
use crate::Failure;
use crate::build::{Build, printed};
use crate::repo::Generated;

/// The page, as the server's example prints it.
pub(crate) fn generate(build: &Build) -> Result<Generated, Failure> {
    let body = printed(&build.example("refusals"), &[], &[])?;
    Ok(page("refusals", &body))
}
