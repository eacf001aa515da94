//! Finds where the ref ends in `REF/PATH`. Only the refs of the repository can tell, since both have slashes.

use crate::git::CommitId;

/// Returns the full names of all refs with which the parts may begin. A path follows, so not all parts are the ref.
pub(super) fn candidates(parts: &[String]) -> Vec<String> {
    (1..parts.len())
        .filter_map(|length| parts.get(..length))
        .flat_map(candidates_of_whole)
        .collect()
}

/// Returns the full names of the refs that the parts may be.
pub(super) fn candidates_of_whole(parts: &[String]) -> Vec<String> {
    let name = parts.join("/");
    if name == "HEAD" {
        return vec![name];
    }
    vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")]
}

/// Returns the object of the longest ref with which the parts begin, and the number of its parts. A branch wins over a
/// tag of the same name. A full commit id counts only if no ref fits.
pub(super) fn longest(refs: &[(String, CommitId)], parts: &[String]) -> Option<(CommitId, usize)> {
    for length in (1..=parts.len()).rev() {
        for name in candidates_of_whole(parts.get(..length)?) {
            if let Some((_, object)) = refs.iter().find(|(found, _)| *found == name) {
                return Some((object.clone(), length));
            }
        }
    }
    let first = parts.first()?;
    CommitId::parse(first).ok().map(|commit| (commit, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        text.split('/').map(str::to_owned).collect()
    }

    fn refs(names: &[&str]) -> Vec<(String, CommitId)> {
        let id = |digit: usize| CommitId::parse(&format!("{digit:040x}")).unwrap();
        let named = names.iter().enumerate();
        named
            .map(|(number, name)| ((*name).to_owned(), id(number)))
            .collect()
    }

    #[test]
    fn the_longest_real_ref_wins_and_a_branch_over_a_tag() {
        let known = refs(&[
            "refs/tags/release",
            "refs/heads/release",
            "refs/heads/release/2.0",
        ]);
        for (text, expected) in [
            ("release/2.0/x", Some((2, 2))),
            ("release/1.0/x", Some((1, 1))),
            ("main/x", None),
        ] {
            let found = longest(&known, &parts(text));
            let found = found.map(|(id, length)| {
                let number = known.iter().position(|(_, known)| *known == id);
                (number.unwrap(), length)
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_full_commit_id_is_a_ref_only_if_no_branch_has_its_name() {
        let id = "a".repeat(40);
        let text = parts(&format!("{id}/x"));
        let (found, length) = longest(&[], &text).unwrap();
        assert_eq!((found.as_str(), length), (id.as_str(), 1));
        let branch = refs(&[&format!("refs/heads/{id}")]);
        let (found, _) = longest(&branch, &text).unwrap();
        assert_eq!(found.as_str(), "0".repeat(40));
        assert_eq!(longest(&[], &parts("abcdef/x")), None);
    }

    #[test]
    fn only_refs_before_a_path_are_asked_for() {
        assert_eq!(
            candidates(&parts("a/b/c")),
            [
                "refs/heads/a",
                "refs/tags/a",
                "refs/heads/a/b",
                "refs/tags/a/b"
            ]
        );
        assert_eq!(candidates(&parts("HEAD/x")), ["HEAD"]);
    }
}
