//! What to say about a key that does not exist: what it was before, what was probably meant, or where all are listed.

use super::{KEYS, Key, KeyPath};

/// Shapes of earlier versions and common mistakes, with what to write instead. `*` stands for any name.
const INSTEAD: &[(&str, &str)] = &[
    (
        "model.overrides",
        "write the figures under models.catalog.\"provider/model\"",
    ),
    (
        "models.overrides",
        "write the figures under models.catalog.\"provider/model\"",
    ),
    ("models.default", "write model.default"),
    ("model.fallback", "write model.fallbacks, a list"),
    (
        "providers.*.auth_source",
        "write providers.<id>.auth.source",
    ),
    (
        "providers.*.credential_source",
        "write providers.<id>.auth.source",
    ),
    ("providers.*.auth_kind", "write providers.<id>.auth.kind"),
    ("providers.*.auth_env", "write providers.<id>.auth.env"),
    (
        "providers.*.auth_profile",
        "write providers.<id>.auth.profile",
    ),
    ("providers.*.api_key", NO_SECRETS),
    ("providers.*.key", NO_SECRETS),
    ("providers.*.token", NO_SECRETS),
    ("providers.*.auth.api_key", NO_SECRETS),
    ("providers.*.auth.key", NO_SECRETS),
    ("providers.*.auth.token", NO_SECRETS),
    ("providers.*.auth.material", NO_SECRETS),
];

const NO_SECRETS: &str = "this file holds no secrets; store it with `holon config credentials set` and name the profile in providers.<id>.auth.profile";

/// A name longer than this is no misspelling, and comparing it would take its length squared.
const LONGEST: usize = 200;

/// What to do about a key nobody knows.
pub(crate) fn advice(unknown: &KeyPath) -> String {
    if let Some((_, instead)) = INSTEAD.iter().find(|(old, _)| covers(old, unknown)) {
        return (*instead).to_owned();
    }
    let written = unknown.to_string();
    let likely = KEYS
        .iter()
        .filter(|_| written.len() <= LONGEST)
        .map(|key| instance(key, unknown))
        .map(|name| (distance(&written, &name), name))
        .min();
    match likely {
        Some((edits, name)) if edits <= name.len() / 4 => format!("did you mean {name}?"),
        Some(_) | None => "run `holon config schema` to see every setting".to_owned(),
    }
}

/// The nearest of some names, if it is near.
pub(crate) fn nearest<'a>(unknown: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (edits, name) = names.map(|name| (distance(unknown, name), name)).min()?;
    (edits <= name.len() / 3).then_some(name)
}

fn covers(old: &str, path: &KeyPath) -> bool {
    let old: Vec<&str> = old.split('.').collect();
    let same = |(old, given): (&&str, &String)| *old == "*" || *old == given;
    old.len() <= path.segments().len() && old.iter().zip(path.segments()).all(same)
}

/// The key's name with the names that were given in the places where any may stand.
fn instance(key: &Key, given: &KeyPath) -> String {
    let filled = key.segments().enumerate().map(|(index, segment)| {
        let name = given
            .segments()
            .get(index)
            .filter(|_| segment.starts_with('<'));
        name.map_or(segment, String::as_str)
    });
    let filled: Vec<&str> = filled.collect();
    KeyPath::of(&filled).to_string()
}

/// Edits (insert, delete, replace) that turn `left` into `right`; one row of the usual table at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (left, right, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("model.defualt", "model.default", 2),
        ] {
            assert_eq!(distance(left, right), edits, "{left:?} to {right:?}");
        }
    }

    #[test]
    fn a_near_miss_names_the_key_with_the_names_that_were_given() {
        for (unknown, said) in [
            ("model.defualt", "did you mean model.default?"),
            ("serve.http-addr", "did you mean serve.http_addr?"),
            (
                "providers.mine.baseurl",
                "did you mean providers.mine.base_url?",
            ),
            (
                "models.catalog.\"a/b\".context_window",
                "did you mean models.catalog.\"a/b\".context_window_tokens?",
            ),
            ("colour", "run `holon config schema` to see every setting"),
        ] {
            assert_eq!(advice(&KeyPath::parse(unknown).expect("reads")), said);
        }
    }

    #[test]
    fn an_old_shape_says_what_to_write_instead() {
        let said = |name: &str| advice(&KeyPath::parse(name).expect("reads"));
        assert_eq!(
            said("providers.x.auth_source"),
            "write providers.<id>.auth.source"
        );
        assert!(said("providers.x.api_key").contains("holon config credentials set"));
        assert!(said("model.overrides.x").contains("models.catalog"));
    }
}
