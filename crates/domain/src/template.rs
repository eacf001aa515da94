//! Selectors of agent templates: an id, an absolute path, or a directory on GitHub.
//!
//! Only these three forms exist. A selector is parsed into checked parts before anything is looked up, so that no part
//! of it can become an option, a traversal or another host.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest template id or name of a skill, in bytes.
const ID_BYTES: usize = 64;
/// Longest selector, in bytes.
const SELECTOR_BYTES: usize = 1_024;
const GITHUB: &str = "https://github.com/";

/// A selector whose form was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TemplateSelector {
    /// Name of a directory in `~/.agents/templates`, or of a built-in template.
    Id(String),
    /// Absolute path of a directory, without `.` and `..`.
    Path(String),
    GitHub(GitHubTree),
}

/// A directory in a repository on GitHub: `https://github.com/<owner>/<repo>/tree/<ref>/<path>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubTree {
    pub owner: String,
    pub repo: String,
    /// Components of the ref, followed by those of the path. A ref may have slashes, so only the repository's real refs
    /// tell where the path begins. At least two.
    pub ref_and_path: Vec<String>,
}

/// A selector that has none of the three forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("template {shown:?} cannot be used: {reason}")]
pub struct TemplateSelectorError {
    /// The beginning of the selector, as far as a message can show it.
    shown: String,
    reason: &'static str,
}

impl TemplateSelector {
    /// Parses an id, an absolute path or the URL of a GitHub tree.
    ///
    /// # Errors
    /// When it has none of the three forms.
    pub fn parse(text: &str) -> Result<Self, TemplateSelectorError> {
        let refuse = |reason| TemplateSelectorError {
            shown: crate::text::preview(text, 120),
            reason,
        };
        if text.len() > SELECTOR_BYTES {
            return Err(refuse("it is longer than 1024 bytes"));
        }
        if text.chars().any(is_unusable) {
            return Err(refuse("it has a control character or an invisible one"));
        }
        if text.starts_with('/') {
            return parse_path(text).map_err(refuse);
        }
        if let Some(rest) = text.strip_prefix(GITHUB) {
            return GitHubTree::parse(rest).map(Self::GitHub).map_err(refuse);
        }
        if text.contains("://") || text.contains('/') {
            return Err(refuse(
                "use a template id, an absolute path, or https://github.com/OWNER/REPO/tree/REF/DIR",
            ));
        }
        if !is_template_id(text) {
            return Err(refuse(
                "an id has letters, digits, '-', '_' and '.', begins with a letter or digit and has at most 64 bytes",
            ));
        }
        Ok(Self::Id(text.to_owned()))
    }
}

fn is_unusable(c: char) -> bool {
    c.is_control() || crate::text::is_display_control(c) || c == '\u{feff}'
}

/// Returns true if a text can be the id of a template.
#[must_use]
pub fn is_template_id(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_some_and(|c| c.is_ascii_alphanumeric())
        && text.len() <= ID_BYTES
        && text
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}

/// Returns true if a text can be the name of a skill: lower-case letters, digits and single hyphens between them.
#[must_use]
pub fn is_skill_name(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !text.is_empty()
        && text.len() <= ID_BYTES
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

fn parse_path(text: &str) -> Result<TemplateSelector, &'static str> {
    let parts = text.split('/').skip(1);
    if parts.clone().any(|part| part == "." || part == "..") {
        return Err("a path must not contain '.' or '..'");
    }
    if parts.filter(|part| !part.is_empty()).count() == 0 {
        return Err("the root directory is no template");
    }
    Ok(TemplateSelector::Path(
        text.trim_end_matches('/').to_owned(),
    ))
}

impl GitHubTree {
    /// Parses what follows the host in the URL of a tree.
    pub(crate) fn parse(rest: &str) -> Result<Self, &'static str> {
        let mut parts = rest.trim_end_matches('/').split('/');
        let (owner, repo) = (parts.next(), parts.next());
        let (Some(owner), Some(repo)) = (owner, repo) else {
            return Err("a GitHub URL names an owner and a repository");
        };
        if !is_owner(owner) || !is_repo(repo) {
            return Err("the owner or the repository has characters that GitHub does not allow");
        }
        if parts.next() != Some("tree") {
            return Err("a GitHub URL has the form https://github.com/OWNER/REPO/tree/REF/DIR");
        }
        let ref_and_path: Vec<String> = parts.map(str::to_owned).collect();
        if ref_and_path.len() < 2 {
            return Err(
                "a GitHub URL names a ref and a directory; a whole repository is no template",
            );
        }
        if !ref_and_path.iter().all(|part| is_tree_part(part)) {
            return Err("the ref or the directory has a part that cannot be used");
        }
        Ok(Self {
            owner: owner.to_owned(),
            repo: repo.to_owned(),
            ref_and_path,
        })
    }
}

/// Returns true if a text can be the owner of a repository on GitHub.
#[must_use]
pub fn is_owner(text: &str) -> bool {
    (1..=39).contains(&text.len())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Returns true if a text can be the name of a repository on GitHub.
#[must_use]
pub fn is_repo(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
        && !text.starts_with(['-', '.'])
        && !text.ends_with(".git")
}

/// Returns true for one component of a ref, which does not begin with a dot.
pub(crate) fn is_ref_part(text: &str) -> bool {
    is_tree_part(text) && !text.starts_with('.')
}

/// Returns true for one component of a ref or a path. Git's own rules for refs forbid the listed characters.
fn is_tree_part(text: &str) -> bool {
    let allowed = |c: char| {
        !c.is_whitespace()
            && !matches!(
                c,
                '~' | '^' | ':' | '?' | '*' | '[' | '\\' | '%' | '#' | '@'
            )
    };
    !text.is_empty()
        && text.len() <= 255
        && text.chars().all(allowed)
        && !text.starts_with('-')
        && !text.eq_ignore_ascii_case(".git")
        && !text.ends_with(".lock")
        && !text.ends_with('.')
        && !text.contains("..")
}

impl fmt::Display for TemplateSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => f.write_str(id),
            Self::Path(path) => f.write_str(path),
            Self::GitHub(tree) => {
                let GitHubTree {
                    owner,
                    repo,
                    ref_and_path,
                } = tree;
                write!(f, "{GITHUB}{owner}/{repo}/tree/{}", ref_and_path.join("/"))
            }
        }
    }
}

impl TryFrom<String> for TemplateSelector {
    type Error = TemplateSelectorError;
    fn try_from(text: String) -> Result<Self, TemplateSelectorError> {
        Self::parse(&text)
    }
}

impl From<TemplateSelector> for String {
    fn from(selector: TemplateSelector) -> Self {
        selector.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_told_apart_and_spelled_back() {
        for text in [
            "holon-default",
            "Release_2.1",
            "/srv/templates/reviewer",
            "https://github.com/acme/agents/tree/main/templates/reviewer",
            "https://github.com/acme/agents.rs/tree/release/2.0/x",
            "https://github.com/acme/agents/tree/main/.agents/templates/x",
        ] {
            let parsed = TemplateSelector::parse(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(parsed.to_string(), text);
        }
        assert_eq!(
            TemplateSelector::parse("/srv/x/"),
            Ok(TemplateSelector::Path("/srv/x".to_owned()))
        );
    }

    #[test]
    fn every_other_form_is_refused() {
        let long = "x".repeat(65);
        for text in [
            "",
            ".",
            "..",
            ".hidden",
            "-rf",
            "a b",
            "a/b",
            "../up",
            "a\\b",
            "ünï",
            "a\u{202e}b",
            "a\nb",
            "a\0b",
            long.as_str(),
            "/",
            "//",
            "/a/../b",
            "/a/./b",
            "file:///etc",
            "http://github.com/a/b/tree/main/x",
            "https://github.com.evil.example/a/b/tree/main/x",
            "https://github.com@evil.example/a/b/tree/main/x",
            "https://raw.githubusercontent.com/a/b/main/x",
            "ext::sh -c id",
            "https://github.com/a",
            "https://github.com/a/b",
            "https://github.com/a/b/tree/main",
            "https://github.com/a/b/blob/main/x",
            "https://github.com/-a/b/tree/main/x",
            "https://github.com/a/-b/tree/main/x",
            "https://github.com/a/../tree/main/x",
            "https://github.com/a/b/tree/main/../x",
            "https://github.com/a/b/tree/main//x",
            "https://github.com/a/b/tree/main/./x",
            "https://github.com/a/b/tree/main/.GIT/x",
            "https://github.com/a/b/tree/--upload-pack=id/x",
            "https://github.com/a/b/tree/main/x?y",
            "https://github.com/a/b/tree/main/x#y",
            "https://github.com/a/b/tree/main/%2e%2e",
            "https://github.com/a/b/tree/@{-1}/x",
            "https://github.com/a/b.git/tree/main/x",
        ] {
            assert!(TemplateSelector::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_of_skills_follow_the_public_format() {
        for name in ["a", "pdf-processing", "x1", &"y".repeat(64)] {
            assert!(is_skill_name(name), "{name}");
        }
        for name in [
            "",
            "A",
            "-a",
            "a-",
            "a--b",
            "a_b",
            "a/b",
            "..",
            "é",
            &"y".repeat(65),
        ] {
            assert!(!is_skill_name(name), "{name}");
        }
    }
}
