//! The reference pages, made from code so that they cannot be wrong about it.
//!
//! Each page has one generator; `cargo xtask docs` writes them all. `cargo xtask tidy` refuses stale ones, except the
//! pages of commands and of refusals: they need a build, so they are checked after the tests.

mod cli;
mod events;
mod limits;
mod refusals;
mod rust;
mod settings;
mod tools;

use crate::Failure;
use crate::build::Build;
use crate::repo::{Generated, Repo};

/// The pages that need a build: refusals, and commands if the program has any.
pub(crate) fn built_pages(repo: &Repo) -> Result<Vec<Generated>, Failure> {
    let build = Build::of(repo)?;
    let mut pages = vec![refusals::generate(&build)?];
    pages.extend(cli::generate(&build)?);
    Ok(pages)
}

/// Every page that can be made from the sources.
pub(crate) fn pages(repo: &Repo) -> Result<Vec<Generated>, Failure> {
    let mut event_source = repo.read("crates/domain/src/event.rs")?;
    for part in ["message", "provider", "state", "task", "turn", "work"] {
        event_source += &repo.read(&format!("crates/domain/src/event/{part}.rs"))?;
    }
    let limit_source = repo.read("crates/domain/src/limits.rs")?;
    // The crate of patches needs nothing of ours, so its bounds stand there.
    let patch_source = repo.read("crates/patch/src/lib.rs")?;
    let limit_sources = [("", limit_source.as_str()), ("patch::", &patch_source)];
    Ok(vec![
        page("events", &events::render(&event_source)?),
        page("limits", &limits::render(&limit_sources)?),
        page("settings", &settings::render()),
        page("tools", &tools::render()),
    ])
}

fn page(name: &str, body: &str) -> Generated {
    Generated {
        path: format!("docs/reference/{name}.md"),
        content: format!(
            "<!-- Written by `cargo xtask docs`; change the code it is made from. -->\n{body}"
        ),
    }
}

/// A cell of a Markdown table: on one line, its bars escaped.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
