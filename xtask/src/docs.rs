//! The reference pages, made from code so that they cannot be wrong about it.
//!
//! Each page has one generator; `cargo xtask docs` writes them all. `cargo xtask tidy` refuses stale ones, except the
//! pages of commands, routes, refusals and error codes: they need a build, so they are checked after the tests.

mod cli;
mod errors;
mod events;
mod http;
mod limits;
mod refusals;
mod rust;
mod settings;
mod tools;
mod types;

use crate::Failure;
use crate::build::Build;
use crate::repo::{Generated, Repo, Source};

/// The pages that need a build: refusals, error codes, routes, and commands if the program has any.
pub(crate) fn built_pages(repo: &Repo) -> Result<Vec<Generated>, Failure> {
    let build = Build::of(repo)?;
    let refusals = refusals::generate(&build)?;
    let http = http::generate(&build, &refusals)?;
    let mut pages = vec![refusals, errors::generate(&build)?, http];
    pages.extend(cli::generate(&build)?);
    Ok(pages)
}

/// Every page that can be made from the sources.
pub(crate) fn pages(repo: &Repo) -> Result<Vec<Generated>, Failure> {
    let is_domain = |source: &Source| {
        source.path.starts_with("crates/domain/src/") && source.path.ends_with(".rs")
    };
    let domain_source: String = repo
        .texts()?
        .into_iter()
        .filter(is_domain)
        .map(|source| source.text)
        .collect();
    let is_limits = |path: &str| {
        path == "crates/domain/src/limits.rs" || path.starts_with("crates/domain/src/limits/")
    };
    let mut limit_files: Vec<_> = repo.texts()?;
    limit_files.retain(|source| is_limits(&source.path));
    limit_files.sort_by(|one, other| one.path.cmp(&other.path));
    // The crate of patches needs nothing of ours, so its bounds stand there.
    let patch_source = repo.read("crates/patch/src/lib.rs")?;
    let mut limit_sources: Vec<(&str, &str)> = limit_files
        .iter()
        .map(|source| ("", source.text.as_str()))
        .collect();
    limit_sources.push(("patch::", &patch_source));
    Ok(vec![
        page("events", &events::render(&domain_source)?),
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

/// A cell of a Markdown table: on one line, its bars escaped, links to items as plain code.
fn cell(text: &str) -> String {
    text.replace('\n', " ")
        .replace('|', "\\|")
        .replace("[`", "`")
        .replace("`]", "`")
}
