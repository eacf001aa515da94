//! Names that reach git as arguments: branches and commits that the runtime itself made or read, and labels.
//!
//! A name that is not of these types is never an argument, so no text of a model or a repository can become an option.

use super::GitError;
use holon_domain::limits::ISOLATION_LABEL_BYTES;

/// Prefix of the branches that the runtime makes.
const BRANCH_PREFIX: &str = "holon/";
/// Label of a worktree whose caller gave none that can be used.
const DEFAULT_LABEL: &str = "workspace";

/// Branch that the runtime makes for a worktree, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchName(String);

impl BranchName {
    /// Returns the branch of the worktree with this directory name.
    ///
    /// # Errors
    /// The name has other characters than lower-case letters, digits and single hyphens between them.
    pub fn of_worktree(name: &str) -> Result<Self, GitError> {
        Self::parse(&format!("{BRANCH_PREFIX}{name}"))
    }

    /// Checks a branch that a record names.
    ///
    /// # Errors
    /// It is not a name that the runtime gives.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let name = text.strip_prefix(BRANCH_PREFIX).unwrap_or_default();
        if name.is_empty() || name.len() > 128 || slug_of(name) != name {
            return Err(GitError::InvalidName {
                name: text.chars().take(200).collect(),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the branch without `refs/heads/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the full name of the ref.
    #[must_use]
    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// Returns the ref that holds the last commit of the branch after its removal.
    #[must_use]
    pub fn rescue_ref(&self) -> String {
        let name = self.0.strip_prefix(BRANCH_PREFIX).unwrap_or(&self.0);
        format!("refs/holon/rescue/{name}")
    }
}

/// Full id of a commit in hexadecimal: 40 characters for SHA-1, 64 for SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitId(String);

impl CommitId {
    /// Checks an id that git printed or a record names.
    ///
    /// # Errors
    /// The text is not a full id.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if matches!(text.len(), 40 | 64) && text.bytes().all(hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(GitError::InvalidName {
                name: text.chars().take(80).collect(),
            })
        }
    }

    /// Returns the id in hexadecimal.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the same length that stands for no object.
    #[must_use]
    pub fn none(&self) -> String {
        "0".repeat(self.0.len())
    }
}

/// Returns the label that stands for a caller's words in names: lower-case letters, digits and single hyphens, at most
/// [`ISOLATION_LABEL_BYTES`]. Words without any of these give the default label.
#[must_use]
pub fn slug(words: Option<&str>) -> String {
    let mut label = slug_of(words.unwrap_or_default());
    label.truncate(ISOLATION_LABEL_BYTES);
    let label = label.trim_end_matches('-');
    if label.is_empty() {
        DEFAULT_LABEL.to_owned()
    } else {
        label.to_owned()
    }
}

/// Spells words with lower-case ASCII letters, digits and single hyphens between them. The result is ASCII.
fn slug_of(words: &str) -> String {
    let mut label = String::new();
    for c in words.chars() {
        if c.is_ascii_alphanumeric() {
            label.push(c.to_ascii_lowercase());
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    label.truncate(label.trim_end_matches('-').len());
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_made_of_any_words() {
        for (words, label) in [
            (None, "workspace"),
            (Some(""), "workspace"),
            (Some("-"), "workspace"),
            (Some("\u{202e}\u{1F600}"), "workspace"),
            (Some("Fix the parser!"), "fix-the-parser"),
            (Some("--detach"), "detach"),
            (Some("../../etc"), "etc"),
            (Some("a\n--upload-pack=x"), "a-upload-pack-x"),
            (Some("a..b@{-1}.lock"), "a-b-1-lock"),
        ] {
            assert_eq!(slug(words), label, "{words:?}");
        }
        assert_eq!(slug(Some(&"x".repeat(65_536))).len(), ISOLATION_LABEL_BYTES);
        let hyphen = format!("{}-y", "x".repeat(ISOLATION_LABEL_BYTES - 1));
        assert_eq!(slug(Some(&hyphen)), "x".repeat(ISOLATION_LABEL_BYTES - 1));
    }

    #[test]
    fn only_the_runtimes_own_branches_are_names() {
        let branch = BranchName::of_worktree("fix-1a2b3c4d").unwrap();
        assert_eq!(branch.as_str(), "holon/fix-1a2b3c4d");
        assert_eq!(branch.full_ref(), "refs/heads/holon/fix-1a2b3c4d");
        assert_eq!(branch.rescue_ref(), "refs/holon/rescue/fix-1a2b3c4d");
        for text in [
            "",
            "main",
            "holon/",
            "holon/-x",
            "holon/x/../y",
            "holon/X",
            "--force",
            "holon/x y",
            "holon/x\n",
            "holon/@{-1}",
        ] {
            assert!(BranchName::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_full_ids_are_commits() {
        for text in ["a".repeat(40), "0".repeat(64)] {
            assert_eq!(CommitId::parse(&text).unwrap().as_str(), text);
        }
        for text in ["HEAD", "", "-", "abc"] {
            assert!(CommitId::parse(text).is_err(), "{text}");
        }
        for text in ["A".repeat(40), "g".repeat(40), "a".repeat(41)] {
            assert!(CommitId::parse(&text).is_err(), "{text}");
        }
    }
}
