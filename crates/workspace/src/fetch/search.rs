//! Finds a skill in the list of a repository's files.

use super::error::FetchError;
use super::listing::{self, EntryKind};
use crate::git::CommitId;
use crate::skill::SKILL_MD;
use holon_domain::remote::GitHubRepo;
use holon_domain::template::is_skill_name;
use std::collections::BTreeMap;

/// Most names that a message lists.
const NAMED: usize = 20;

/// The directory of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Path in the repository; empty for the root.
    pub(super) path: String,
    /// Id of its tree; absent for the root.
    pub(super) tree: Option<CommitId>,
}

/// Finds the skill of this name, or without one the only skill. Of several with the same name the one nearest to the
/// root counts. `listed` comes from `ls-tree -r -t`.
pub(super) fn find_skill(
    listed: &[u8],
    name: Option<&str>,
    repo: &GitHubRepo,
) -> Result<Found, FetchError> {
    let refuse = |reason: String| FetchError::NoSkill {
        repository: repo.to_string(),
        reason,
    };
    let skills = skills(listed, &repo.repo);
    let mut fitting: Vec<&Found> = skills
        .iter()
        .filter(|(skill, _)| name.is_none_or(|name| name == skill.as_str()))
        .map(|(_, found)| found)
        .collect();
    fitting.sort_by_key(|found| (depth(found), found.path.clone()));
    match (fitting.as_slice(), name) {
        ([only], _) => Ok((*only).clone()),
        ([first, second, ..], Some(_)) if depth(first) < depth(second) => Ok((*first).clone()),
        ([first, second, ..], Some(name)) => Err(refuse(format!(
            "it has several skills {name:?}, {:?} and {:?}; name one by the URL of its tree",
            first.path, second.path
        ))),
        ([_, _, ..], None) => Err(refuse(format!(
            "it has several skills, name one of them: {}",
            names(&skills)
        ))),
        ([], Some(name)) if !skills.is_empty() => Err(refuse(format!(
            "it has no skill {name:?}; there are: {}",
            names(&skills)
        ))),
        ([], _) => Err(refuse(format!("it has no directory with a {SKILL_MD}"))),
    }
}

fn depth(found: &Found) -> usize {
    match found.path.as_str() {
        "" => 0,
        path => path.split('/').count(),
    }
}

fn names(skills: &[(String, Found)]) -> String {
    let mut names: Vec<&str> = skills.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let listed = names.join(", ");
    if more == 0 {
        listed
    } else {
        format!("{listed} and {more} more")
    }
}

/// Lists the directories with a `SKILL.md` whose names are those of skills. The root has the name of the repository.
fn skills(listed: &[u8], repo: &str) -> Vec<(String, Found)> {
    let entries = listing::parse(listed).unwrap_or_default();
    let trees: BTreeMap<&str, &CommitId> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Directory)
        .map(|entry| (entry.path.as_str(), &entry.id))
        .collect();
    let mut skills = Vec::new();
    for entry in &entries {
        let directory = match entry.path.strip_suffix(SKILL_MD) {
            Some("") => "",
            Some(directory) if directory.ends_with('/') => directory.trim_end_matches('/'),
            Some(_) | None => continue,
        };
        let tree = trees.get(directory).map(|id| (*id).clone());
        let name = match directory {
            "" => repo,
            directory => directory.rsplit('/').next().unwrap_or_default(),
        };
        if is_skill_name(name) && (directory.is_empty() || tree.is_some()) {
            let found = Found {
                path: directory.to_owned(),
                tree,
            };
            skills.push((name.to_owned(), found));
        }
    }
    skills
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

    fn listed(paths: &[&str]) -> Vec<u8> {
        let mut text = String::new();
        for path in paths {
            for (at, _) in path.match_indices('/') {
                text.push_str(&format!("040000 tree {ID}\t{}\0", path.get(..at).unwrap()));
            }
            text.push_str(&format!("100644 blob {ID}\t{path}\0"));
        }
        text.into_bytes()
    }

    fn find(paths: &[&str], name: Option<&str>) -> Result<String, String> {
        let repo = GitHubRepo {
            owner: "acme".to_owned(),
            repo: "tools".to_owned(),
        };
        let found = find_skill(&listed(paths), name, &repo);
        found
            .map(|found| found.path)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_skill_is_found_by_its_directory() {
        let all = [
            "README.md",
            "skills/pdf/SKILL.md",
            "x/y/pdf/SKILL.md",
            "csv/SKILL.md",
        ];
        assert_eq!(find(&all, Some("pdf")).unwrap(), "skills/pdf");
        assert_eq!(find(&all, Some("csv")).unwrap(), "csv");
        assert_eq!(find(&["a/pdf/SKILL.md"], None).unwrap(), "a/pdf");
        assert_eq!(find(&["SKILL.md"], None).unwrap(), "");
        assert_eq!(
            find(&["SKILL.md", "a/SKILL.md"], Some("tools")).unwrap(),
            ""
        );
    }

    #[test]
    fn a_name_that_fits_none_or_several_is_refused_with_the_names() {
        let all = ["a/pdf/SKILL.md", "b/pdf/SKILL.md", "c/csv/SKILL.md"];
        let several = find(&all, Some("pdf")).unwrap_err();
        assert!(several.contains("\"a/pdf\" and \"b/pdf\""), "{several}");
        let none = find(&all, Some("x")).unwrap_err();
        assert!(none.contains("there are: csv, pdf"), "{none}");
        let unnamed = find(&all, None).unwrap_err();
        assert!(unnamed.contains("csv, pdf"), "{unnamed}");
        for paths in [&["NOT_SKILL.md", "x/NOT_SKILL.md", "X/SKILL.md"][..], &[]] {
            let empty = find(paths, Some("x")).unwrap_err();
            assert!(empty.contains("no directory with a SKILL.md"), "{empty}");
        }
    }
}
