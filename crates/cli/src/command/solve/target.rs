//! The issue or pull request that is to be worked on.

use holon_daemon::checkout::GitHubCheckout;
use holon_domain::remote::GitHubRepo;
use serde::{Serialize, Serializer};

const GITHUB: &str = "https://github.com/";
const FORMS: &str = "REF is the URL of an issue or pull request on GitHub, OWNER/REPO#N, or #N";

/// Kind of a target, as far as its form tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TargetKind {
    Issue,
    PullRequest,
    /// `OWNER/REPO#N` names an issue or a pull request.
    Unknown,
}

/// An issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Target {
    #[serde(serialize_with = "slug")]
    pub(super) repo: GitHubRepo,
    pub(super) number: u64,
    pub(super) kind: TargetKind,
}

fn slug<S: Serializer>(repo: &GitHubRepo, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&repo.slug())
}

impl Target {
    /// Parses a reference. `repo` and then `around` give the repository of a bare number.
    pub(super) fn parse(
        text: &str,
        repo: Option<&str>,
        around: Option<&GitHubCheckout>,
    ) -> Result<Self, String> {
        let named = repo.map(|repo| {
            GitHubRepo::parse(repo).ok_or_else(|| format!("--repo {repo:?} is not OWNER/REPO"))
        });
        let named = named.transpose()?;
        let parsed = match text.strip_prefix(GITHUB) {
            Some(rest) => parse_url(rest)?,
            None => {
                let (slug, number) = text.split_once('#').ok_or(FORMS)?;
                let repo = match (slug, &named, around) {
                    ("", Some(named), _) => named.clone(),
                    ("", None, Some(around)) => around.repo.clone(),
                    ("", None, None) => {
                        return Err(format!(
                            "{text} needs its repository: add --repo OWNER/REPO, or run inside a clone whose origin is \
                             on GitHub"
                        ));
                    }
                    (slug, _, _) => GitHubRepo::parse(slug).ok_or(FORMS)?,
                };
                Self {
                    repo,
                    number: parse_number(number)?,
                    kind: TargetKind::Unknown,
                }
            }
        };
        match named.filter(|named| *named != parsed.repo) {
            Some(named) => Err(format!(
                "{text} is in {}, and --repo says {}",
                parsed.repo.slug(),
                named.slug()
            )),
            None => Ok(parsed),
        }
    }

    /// Returns the target as `OWNER/REPO#N`.
    pub(super) fn reference(&self) -> String {
        format!("{}#{}", self.repo.slug(), self.number)
    }

    /// Returns the address for people. GitHub sends that of an issue on to a pull request of the same number.
    pub(super) fn url(&self) -> String {
        let kind = match self.kind {
            TargetKind::PullRequest => "pull",
            TargetKind::Issue | TargetKind::Unknown => "issues",
        };
        format!("{}/{kind}/{}", self.repo, self.number)
    }
}

fn parse_url(rest: &str) -> Result<Target, String> {
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let mut parts = rest.split('/');
    let (owner, repo) = (parts.next(), parts.next());
    let slug = format!("{}/{}", owner.unwrap_or_default(), repo.unwrap_or_default());
    let kind = match parts.next() {
        Some("issues") => TargetKind::Issue,
        Some("pull") => TargetKind::PullRequest,
        Some(_) | None => return Err(FORMS.to_owned()),
    };
    Ok(Target {
        repo: GitHubRepo::parse(&slug).ok_or(FORMS)?,
        number: parse_number(parts.next().unwrap_or_default())?,
        kind,
    })
}

fn parse_number(text: &str) -> Result<u64, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_number && *number > 0);
    number.ok_or_else(|| FORMS.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn around() -> GitHubCheckout {
        GitHubCheckout {
            root: PathBuf::from("/srv/tools"),
            repo: GitHubRepo::parse("acme/tools").unwrap(),
        }
    }

    #[test]
    fn every_form_names_a_repository_and_a_number() {
        use TargetKind::{Issue, PullRequest, Unknown};
        for (text, repo, kind) in [
            ("acme/tools#12", None, Unknown),
            ("#12", Some("acme/tools"), Unknown),
            ("#12", None, Unknown),
            ("https://github.com/acme/tools/issues/12", None, Issue),
            ("https://github.com/acme/tools/pull/12", None, PullRequest),
            (
                "https://github.com/acme/tools/pull/12/files",
                None,
                PullRequest,
            ),
            (
                "https://github.com/acme/tools/issues/12#issuecomment-1",
                None,
                Issue,
            ),
            (
                "https://github.com/acme/tools/issues/12?x=y",
                Some("acme/tools"),
                Issue,
            ),
        ] {
            let around = around();
            let target = Target::parse(text, repo, Some(&around)).unwrap();
            assert_eq!(target.reference(), "acme/tools#12", "{text}");
            assert_eq!(target.kind, kind, "{text}");
        }
    }

    #[test]
    fn every_other_form_is_refused() {
        for (text, repo) in [
            ("", None),
            ("12", None),
            ("#", Some("a/b")),
            ("#0", Some("a/b")),
            ("#-1", Some("a/b")),
            ("#+1", Some("a/b")),
            ("#99999999999999999999", Some("a/b")),
            ("#12", None),
            ("#12", Some("nope")),
            ("a/b/c#1", None),
            ("a/b#1", Some("a/c")),
            ("--upload-pack=id#1", None),
            ("fix the login", None),
            ("https://github.com/a/b", None),
            ("https://github.com/a/b/issues/", None),
            ("https://github.com/a/b/commit/1", None),
            ("https://github.com.evil.example/a/b/issues/1", None),
            ("https://github.com@evil.example/a/b/issues/1", None),
            ("http://github.com/a/b/issues/1", None),
        ] {
            assert!(Target::parse(text, repo, None).is_err(), "{text:?}");
        }
    }
}
