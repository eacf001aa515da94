//! The rules no compiler checks. Each check looks at one thing and returns findings; none changes anything.

mod comments;
mod heads;
mod lines;
mod places;
mod reserved;
mod subjects;
mod words;

use crate::finding::Finding;
use crate::metadata::Metadata;
use crate::repo::{Generated, Repo, Source};
use crate::{Failure, bans, docs, graph};

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>, Failure> {
    let texts = repo.texts()?;
    let mut findings = graph::check(&Metadata::load(repo)?);
    for source in &texts {
        findings.extend(places::check(source));
        if is_rust(source) {
            findings.extend(comments::check(source));
            findings.extend(heads::check(source));
            findings.extend(lines::check(source));
            findings.extend(words::check(source));
        }
    }
    findings.extend(reserved::check(&texts));
    findings.extend(code_map(repo)?);
    findings.extend(subjects::check(repo));
    findings.extend(stale(repo, docs::pages(repo)?, "cargo xtask docs"));
    findings.extend(stale(repo, bans::files(repo), "cargo xtask bans"));
    findings.sort();
    Ok(findings)
}

fn is_rust(source: &Source) -> bool {
    let ours = source.path.starts_with("crates/") || source.path.starts_with("xtask/");
    ours && source.path.ends_with(".rs")
}

/// Returns true if a file holds nothing but tests.
fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// Number of lines before the inline test module, or of the whole file.
fn production_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| {
            pair[0].trim() == "#[cfg(test)]"
                && pair[1].starts_with("mod ")
                && pair[1].trim_end().ends_with('{')
        })
        .unwrap_or(lines.len())
}

/// Every crate has its line in the code map.
fn code_map(repo: &Repo) -> Result<Vec<Finding>, Failure> {
    let page = repo.read("ARCHITECTURE.md").unwrap_or_default();
    let map = page.split("## Code map").nth(1).unwrap_or_default();
    let map = map.split("\n## ").next().unwrap_or_default();
    let missing = repo
        .crates()?
        .into_iter()
        .filter(|name| !map.contains(&format!("`crates/{name}`")));
    Ok(missing
        .map(|name| {
            let message = format!(
                "the code map does not name `crates/{name}`; add a line that says what it owns"
            );
            Finding::refusal("ARCHITECTURE.md", 1, message)
        })
        .collect())
}

/// Generated files that are not what would be generated now.
pub(crate) fn stale(repo: &Repo, files: Vec<Generated>, command: &str) -> Vec<Finding> {
    files
        .into_iter()
        .filter(|file| repo.read(&file.path).ok().as_deref() != Some(&file.content))
        .map(|file| {
            let message = format!("is out of date; run: {command}");
            Finding::refusal(&file.path, 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_tests_are_not_counted_as_production() {
        let text = "a\nb\n#[cfg(test)]\nmod tests {\n    c\n}\n";
        assert_eq!(production_lines(text), 2);
        assert_eq!(production_lines("a\n#[cfg(test)]\nmod tests;\nb\n"), 4);
    }

    #[test]
    fn tests_are_known_by_their_path() {
        for (path, expected) in [
            ("crates/a/tests/it/main.rs", true),
            ("crates/a/src/b/tests.rs", true),
            ("crates/a/src/b_tests.rs", true),
            ("crates/a/src/latests.rs", false),
            ("crates/testkit/src/lib.rs", false),
        ] {
            assert_eq!(is_test_file(path), expected, "{path}");
        }
    }
}
