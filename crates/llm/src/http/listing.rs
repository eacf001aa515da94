//! Reads a provider's list of models, in the shapes vendors use.
//!
//! Pure. Only the ids are read; other facts about a model come from the catalog.

use crate::codec::{Fault, json};
use holon_domain::limits::PROVIDER_MODELS;
use serde_json::Value;

/// Longer ids are skipped.
const ID_BYTES: usize = 256;

/// Returns the ids of a list, sorted and without duplicates.
pub(super) fn ids(body: &[u8]) -> Result<Vec<String>, Fault> {
    let malformed = |what: &str| Fault::Malformed {
        what: what.to_owned(),
    };
    let list = json::parse(body).map_err(|_| Fault::NotJson {
        what: "the list of models is not JSON".to_owned(),
    })?;
    let entries = ["data", "models"]
        .iter()
        .find_map(|key| list.get(*key))
        .unwrap_or(&list);
    let entries = entries
        .as_array()
        .ok_or_else(|| malformed("the list of models is no list"))?;
    let mut ids: Vec<String> = entries
        .iter()
        .filter_map(id)
        .take(PROVIDER_MODELS)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn id(entry: &Value) -> Option<String> {
    let named = ["id", "slug", "model", "name"]
        .iter()
        .find_map(|key| entry.get(*key)?.as_str());
    let id = named.or(entry.as_str())?;
    let usable = !id.is_empty() && id.len() <= ID_BYTES && !id.contains(char::is_control);
    usable.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendors_list_gives_its_ids() {
        for body in [
            r#"{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"a"},{"id":""},{}]}"#,
            r#"{"models":[{"slug":"a"},{"slug":"b"}]}"#,
            r#"{"models":[{"name":"a"},{"name":"b","id":"b"}]}"#,
            r#"["a","b"]"#,
        ] {
            assert_eq!(
                ids(body.as_bytes()),
                Ok(vec!["a".to_owned(), "b".to_owned()]),
                "{body}"
            );
        }
        for body in ["<html>", "{}", "7", r#"{"data":{}}"#] {
            assert!(ids(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_list_without_end_is_cut() {
        let many: Vec<Value> = (0..PROVIDER_MODELS + 5)
            .map(|n| n.to_string().into())
            .collect();
        let body = Value::from(many).to_string();
        assert_eq!(ids(body.as_bytes()).unwrap().len(), PROVIDER_MODELS);
    }
}
