//! `holon demo`: a story in one command.

use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Plays it.
pub(super) async fn run(_args: DemoArgs, _output: &Output) -> Result<Exit, Failure> {
    Ok(Exit::Done)
}
