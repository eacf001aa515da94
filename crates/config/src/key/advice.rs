//! What to say about a key that does not exist: what it was before, what was probably meant, or where all are listed.

use super::{KEYS, Key, KeyPath};
use holon_domain::text;

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

/// The advice for an unknown key: the closest known one, or the list.
pub(crate) fn advice(unknown: &KeyPath) -> String {
    if let Some((_, instead)) = INSTEAD.iter().find(|(old, _)| covers(old, unknown)) {
        return (*instead).to_owned();
    }
    let known: Vec<String> = KEYS.iter().map(|key| instance(key, unknown)).collect();
    match text::nearest(&unknown.to_string(), known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean {name}?"),
        None => "run `holon config schema` to see every setting".to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
