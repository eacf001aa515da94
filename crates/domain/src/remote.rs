//! Places of skills on GitHub: a repository, a directory of it, or a skill of it by name.
//!
//! A text is parsed into checked parts before anything is fetched, so that no part of it can become an option, a
//! traversal or another host.

use crate::template::{GitHubTree, is_owner, is_ref_part, is_repo, is_skill_name};
use std::fmt;

/// Longest text of a place, in bytes.
const PACKAGE_BYTES: usize = 1_024;
const GITHUB: &str = "https://github.com/";
/// The three accepted forms, for messages.
const FORMS: &str = "use https://github.com/OWNER/REPO[#REF], https://github.com/OWNER/REPO/tree/REF/DIR or OWNER/REPO@SKILL[#REF]";

/// A repository on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubRepo {
    pub owner: String,
    pub repo: String,
}

impl GitHubRepo {
    /// Parses `OWNER/REPO`; `None` if it has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        parse_repo(text).ok()
    }

    /// Reads the repository from the address of a git remote; `None` if it is not on GitHub.
    #[must_use]
    pub fn of_remote(url: &str) -> Option<Self> {
        let rest = [GITHUB, "git@github.com:", "ssh://git@github.com/"]
            .iter()
            .find_map(|prefix| url.strip_prefix(prefix))?;
        let rest = rest.trim_end_matches('/');
        Self::parse(rest.strip_suffix(".git").unwrap_or(rest))
    }

    /// Returns the repository as `OWNER/REPO`.
    #[must_use]
    pub fn slug(&self) -> String {
        format!("{}/{}", self.owner, self.repo)
    }
}

impl fmt::Display for GitHubRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{GITHUB}{}/{}", self.owner, self.repo)
    }
}

/// A skill on GitHub whose form was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSkill {
    pub repo: GitHubRepo,
    pub place: SkillPlace,
}

/// Place of a skill in its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillPlace {
    /// A directory, as the URL of a tree names it. See [`GitHubTree::ref_and_path`].
    Directory { ref_and_path: Vec<String> },
    /// The directory of this name with a `SKILL.md`. Without a name, the only skill of the repository.
    Named {
        name: Option<String>,
        /// Branch, tag or full commit id. Absent for the default branch.
        reference: Option<String>,
    },
}

/// A text that names no skill on GitHub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("remote skill {shown:?} cannot be used: {reason}")]
pub struct RemoteSkillError {
    /// The beginning of the text, as far as a message can show it.
    shown: String,
    reason: &'static str,
}

impl RemoteSkill {
    /// Parses the place of a skill. `skill` is the name that the caller gave beside it.
    ///
    /// # Errors
    /// When it has none of the accepted forms.
    pub fn parse(package: &str, skill: Option<&str>) -> Result<Self, RemoteSkillError> {
        let refuse = |reason| RemoteSkillError {
            shown: crate::text::preview(package, 120),
            reason,
        };
        let is_unusable = |c: char| c.is_control() || crate::text::is_display_control(c);
        if package.len() > PACKAGE_BYTES {
            return Err(refuse("it is longer than 1024 bytes"));
        }
        if package.chars().any(is_unusable) {
            return Err(refuse("it has a control character or an invisible one"));
        }
        let parsed = parse_place(package).map_err(refuse)?;
        match skill {
            None => Ok(parsed),
            Some(skill) => parsed.with_name(skill).map_err(refuse),
        }
    }

    fn with_name(self, skill: &str) -> Result<Self, &'static str> {
        if !is_skill_name(skill) {
            return Err("a skill's name has lower-case letters, digits and single hyphens");
        }
        match self.place {
            SkillPlace::Named {
                name: None,
                reference,
            } => Ok(Self {
                repo: self.repo,
                place: SkillPlace::Named {
                    name: Some(skill.to_owned()),
                    reference,
                },
            }),
            SkillPlace::Named { name: Some(_), .. } | SkillPlace::Directory { .. } => {
                Err("it names one skill already, so no other name goes with it")
            }
        }
    }
}

fn parse_place(package: &str) -> Result<RemoteSkill, &'static str> {
    let (place, reference) = match package.split_once('#') {
        Some((place, reference)) => (place, Some(parse_reference(reference)?)),
        None => (package, None),
    };
    let Some(rest) = place.strip_prefix(GITHUB) else {
        return parse_package(place, reference);
    };
    if rest.split('/').nth(2) == Some("tree") {
        if reference.is_some() {
            return Err("the URL of a tree names its ref already");
        }
        let tree = GitHubTree::parse(rest)?;
        return Ok(RemoteSkill {
            repo: GitHubRepo {
                owner: tree.owner,
                repo: tree.repo,
            },
            place: SkillPlace::Directory {
                ref_and_path: tree.ref_and_path,
            },
        });
    }
    let rest = rest.trim_end_matches('/');
    let repo = parse_repo(rest.strip_suffix(".git").unwrap_or(rest))?;
    Ok(RemoteSkill {
        repo,
        place: SkillPlace::Named {
            name: None,
            reference,
        },
    })
}

/// Parses `OWNER/REPO@SKILL`. The ref was split off before.
fn parse_package(text: &str, reference: Option<String>) -> Result<RemoteSkill, &'static str> {
    let (repo, skill) = text.split_once('@').ok_or(FORMS)?;
    if !is_skill_name(skill) {
        return Err(FORMS);
    }
    Ok(RemoteSkill {
        repo: parse_repo(repo)?,
        place: SkillPlace::Named {
            name: Some(skill.to_owned()),
            reference,
        },
    })
}

fn parse_repo(text: &str) -> Result<GitHubRepo, &'static str> {
    let (owner, repo) = text.split_once('/').ok_or(FORMS)?;
    if !is_owner(owner) || !is_repo(repo) {
        return Err(FORMS);
    }
    Ok(GitHubRepo {
        owner: owner.to_owned(),
        repo: repo.to_owned(),
    })
}

fn parse_reference(text: &str) -> Result<String, &'static str> {
    if text.split('/').all(is_ref_part) {
        Ok(text.to_owned())
    } else {
        Err("the ref has a part that cannot be used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: Option<&str>, reference: Option<&str>) -> SkillPlace {
        SkillPlace::Named {
            name: name.map(str::to_owned),
            reference: reference.map(str::to_owned),
        }
    }

    #[test]
    fn the_accepted_forms_are_told_apart() {
        let directory = SkillPlace::Directory {
            ref_and_path: ["main", "skills", "pdf"].map(str::to_owned).to_vec(),
        };
        for (text, skill, place) in [
            ("https://github.com/acme/tools", None, named(None, None)),
            ("https://github.com/acme/tools.git", None, named(None, None)),
            (
                "https://github.com/acme/tools#release/2.0",
                None,
                named(None, Some("release/2.0")),
            ),
            (
                "https://github.com/acme/tools/",
                Some("pdf"),
                named(Some("pdf"), None),
            ),
            ("acme/tools@pdf", None, named(Some("pdf"), None)),
            ("acme/tools@pdf#v1", None, named(Some("pdf"), Some("v1"))),
            (
                "https://github.com/acme/tools/tree/main/skills/pdf",
                None,
                directory,
            ),
        ] {
            let parsed = RemoteSkill::parse(text, skill).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(parsed.repo.to_string(), "https://github.com/acme/tools");
            assert_eq!(parsed.place, place, "{text}");
        }
    }

    #[test]
    fn a_remote_on_github_names_its_repository() {
        for url in [
            "https://github.com/acme/tools",
            "https://github.com/acme/tools.git",
            "git@github.com:acme/tools.git",
            "ssh://git@github.com/acme/tools/",
        ] {
            let repo = GitHubRepo::of_remote(url).map(|repo| repo.slug());
            assert_eq!(repo.as_deref(), Some("acme/tools"), "{url}");
        }
        for url in [
            "https://gitlab.com/acme/tools",
            "https://user:pass@github.com/acme/tools",
            "https://github.com/acme",
            "../tools",
            "ext::sh -c id",
        ] {
            assert_eq!(GitHubRepo::of_remote(url), None, "{url}");
        }
    }

    #[test]
    fn every_other_form_is_refused() {
        let long = format!("https://github.com/a/{}", "x".repeat(1_100));
        for (text, skill) in [
            ("", None),
            ("pdf", None),
            ("acme/tools", None),
            ("acme/tools@", None),
            ("acme/tools@Pdf", None),
            ("acme/tools@pdf@x", None),
            ("-x/tools@pdf", None),
            ("acme/..@pdf", None),
            ("acme/tools@pdf#", None),
            ("acme/tools@pdf#--upload-pack=id", None),
            ("acme/tools@pdf#a..b", None),
            ("acme/tools@pdf#@{-1}", None),
            ("acme/tools@pdf\n", None),
            ("acme/tools@pdf", Some("other")),
            ("https://github.com/acme/tools", Some("../x")),
            ("https://github.com/acme", None),
            ("https://github.com/acme/tools/blob/main/x", None),
            ("https://github.com/acme/tools/tree/main", None),
            ("https://github.com/acme/tools/tree/main/x#y", None),
            ("https://github.com/acme/tools/tree/main/x", Some("pdf")),
            ("https://github.com@evil.example/acme/tools", None),
            ("https://github.com.evil.example/acme/tools", None),
            ("http://github.com/acme/tools", None),
            ("https://user:pass@github.com/acme/tools", None),
            ("file:///etc", None),
            ("ext::sh -c id", None),
            ("git@github.com:acme/tools", None),
            ("--upload-pack=id", None),
            (long.as_str(), None),
        ] {
            assert!(RemoteSkill::parse(text, skill).is_err(), "{text:?}");
        }
    }
}
