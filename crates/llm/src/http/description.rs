//! Reads the context window of a model from the descriptions that servers give, in the shapes vendors use.
//!
//! Pure. A number that no model has counts as absent.

use crate::codec::json;
use holon_domain::limits::{PROVIDER_LEARNED_MAX_TOKENS, PROVIDER_LEARNED_MIN_TOKENS};
use holon_domain::provider::StatedWindow;
use serde_json::Value;

/// Members of a list entry that hold the window that a request gets, the most reliable first: what the server was
/// started with (vLLM), what is loaded (LM Studio), and what hosted services offer.
const WINDOW_MEMBERS: [&str; 5] = [
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_input_tokens",
];

/// Member of a list entry that holds the longest window the model was made for. LM Studio loads models with less unless
/// told otherwise. Mistral's hosted models get all of it.
const LONGEST_MEMBER: &str = "max_context_length";
const MISTRAL: &str = "mistralai";

/// The entry of one model in a server's list of models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ListedModel {
    pub(super) window: Option<StatedWindow>,
    /// Identifies some servers: `llamacpp`, `vllm`, and `library` for Ollama.
    pub(super) owned_by: Option<String>,
}

/// Finds a model in a list of models. Nothing is known of one that is not in it.
pub(super) fn listed(body: &[u8], model: &str) -> ListedModel {
    let list = json::parse(body).unwrap_or_default();
    let Some(entry) = find(&list, model) else {
        return ListedModel::default();
    };
    let owned_by = entry.get("owned_by").and_then(Value::as_str);
    let own = WINDOW_MEMBERS
        .iter()
        .find_map(|member| tokens(entry.get(*member)?));
    // OpenRouter: the provider that answers may take less than the model can.
    let served = entry.pointer("/top_provider/context_length");
    let exact = [own, served.and_then(tokens)].into_iter().flatten().min();
    let longest = || match (entry.get(LONGEST_MEMBER).and_then(tokens)?, owned_by) {
        (longest, Some(MISTRAL)) => Some(StatedWindow::Exactly(longest)),
        (longest, _) => Some(StatedWindow::AtMost(longest)),
    };
    ListedModel {
        window: exact.map(StatedWindow::Exactly).or_else(longest),
        owned_by: owned_by.map(str::to_owned),
    }
}

/// Reads the window of llama.cpp's properties (`GET /props`): the one a request gets.
pub(super) fn in_props(body: &[u8]) -> Option<u32> {
    let props = json::parse(body).ok()?;
    tokens(props.pointer("/default_generation_settings/n_ctx")?)
}

/// Reads the window of LM Studio's own list (`GET /api/v0/models`).
pub(super) fn in_own_list(body: &[u8], model: &str) -> Option<StatedWindow> {
    listed(body, model).window
}

/// What Ollama says about a model (`POST /api/show`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ShownModel {
    /// The window that its parameters set.
    pub(super) set: Option<u32>,
    /// The longest window it was made for. Ollama loads it with a smaller one unless told otherwise.
    pub(super) longest: Option<u32>,
}

impl ShownModel {
    /// The window while the model is not loaded. Ollama loads no more than the longest window, also if the parameters set more.
    pub(super) fn window(self) -> Option<StatedWindow> {
        match (self.set, self.longest) {
            (Some(set), longest) => Some(StatedWindow::Exactly(set.min(longest.unwrap_or(set)))),
            (None, longest) => longest.map(StatedWindow::AtMost),
        }
    }
}

/// Reads Ollama's description of a model.
pub(super) fn shown(body: &[u8]) -> ShownModel {
    let shown = json::parse(body).unwrap_or_default();
    let parameters = shown.get("parameters").and_then(Value::as_str);
    let set = parameters.unwrap_or_default().lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let value: u64 = words.next()?.parse().ok()?;
        (name == "num_ctx").then(|| in_range(value)).flatten()
    });
    let info = shown.get("model_info").and_then(Value::as_object);
    let longest = info.into_iter().flatten().find_map(|(name, value)| {
        let is_window = name.ends_with(".context_length");
        is_window.then(|| tokens(value)).flatten()
    });
    ShownModel { set, longest }
}

/// Reads the window of a model that Ollama has loaded (`GET /api/ps`). `None` if it is not loaded, and from servers that
/// do not say.
pub(super) fn loaded(body: &[u8], model: &str) -> Option<u32> {
    let list = json::parse(body).ok()?;
    let latest = format!("{model}:latest");
    let entry = find(&list, model).or_else(|| find(&list, &latest))?;
    tokens(entry.get("context_length")?)
}

/// Finds the entry of a model in a list of models.
fn find<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    let entries = ["data", "models"]
        .iter()
        .find_map(|key| list.get(*key))
        .unwrap_or(list);
    entries.as_array()?.iter().find(|entry| {
        ["id", "slug", "model", "name"]
            .iter()
            .any(|key| entry.get(*key).and_then(Value::as_str) == Some(model))
    })
}

/// Reads a number of tokens. Some servers write it as a float or as text.
fn tokens(value: &Value) -> Option<u32> {
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    in_range(number?)
}

/// Converts a float without a fraction.
fn whole(number: f64) -> Option<u64> {
    let text = (number.fract() == 0.0).then(|| format!("{number:.0}"))?;
    text.parse().ok()
}

fn in_range(number: u64) -> Option<u32> {
    let tokens = u32::try_from(number).ok()?;
    (PROVIDER_LEARNED_MIN_TOKENS..=PROVIDER_LEARNED_MAX_TOKENS)
        .contains(&tokens)
        .then_some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendors_list_gives_the_window_of_the_model() {
        for (entry, window) in [
            (
                r#"{"id":"m","owned_by":"vllm","max_model_len":8192}"#,
                Some(8_192),
            ),
            (r#"{"id":"m","context_length":131072}"#, Some(131_072)),
            (
                r#"{"id":"m","context_length":131072,"top_provider":{"context_length":65536}}"#,
                Some(65_536),
            ),
            (r#"{"id":"m","context_window":16385}"#, Some(16_385)),
            (r#"{"id":"m","max_input_tokens":16385.0}"#, Some(16_385)),
            (r#"{"id":"m","max_input_tokens":"200000"}"#, Some(200_000)),
            (
                r#"{"id":"m","max_context_length":131072,"loaded_context_length":4096}"#,
                Some(4_096),
            ),
            (r#"{"name":"m","context_length":1000}"#, Some(1_000)),
            (r#"{"id":"m","meta":{"n_ctx_train":8192}}"#, None),
            (r#"{"id":"other","max_model_len":8192}"#, None),
            (
                r#"{"id":"m","max_model_len":null,"context_length":2048}"#,
                Some(2_048),
            ),
            (r#"{"id":"m","max_model_len":0}"#, None),
            (r#"{"id":"m","max_model_len":-5}"#, None),
            (r#"{"id":"m","max_model_len":1e300}"#, None),
            (r#"{"id":"m","max_model_len":8192.5}"#, None),
            (r#"{"id":"m","max_model_len":[8192]}"#, None),
        ] {
            for body in [
                format!(r#"{{"object":"list","data":[{{"id":"x"}},{entry}]}}"#),
                format!(r#"{{"models":[{entry}]}}"#),
                format!("[7, {entry}]"),
            ] {
                let expected = window.map(StatedWindow::Exactly);
                assert_eq!(listed(body.as_bytes(), "m").window, expected, "{body}");
            }
        }
        for body in [
            "",
            "<html>",
            "7",
            "{}",
            r#"{"data":{}}"#,
            r#"{"data":["m"]}"#,
        ] {
            assert_eq!(
                listed(body.as_bytes(), "m"),
                ListedModel::default(),
                "{body}"
            );
        }
    }

    #[test]
    fn the_longest_window_of_a_model_is_a_bound_unless_the_service_grants_it() {
        for (entry, window) in [
            (
                r#"{"id":"m","state":"not-loaded","max_context_length":131072}"#,
                StatedWindow::AtMost(131_072),
            ),
            (
                r#"{"id":"m","max_context_length":131072,"loaded_context_length":null}"#,
                StatedWindow::AtMost(131_072),
            ),
            (
                r#"{"id":"m","owned_by":"mistralai","max_context_length":131072}"#,
                StatedWindow::Exactly(131_072),
            ),
        ] {
            let body = format!(r#"{{"data":[{entry}]}}"#);
            assert_eq!(listed(body.as_bytes(), "m").window, Some(window), "{body}");
        }
    }

    #[test]
    fn a_model_that_ollama_has_not_loaded_gets_what_is_set_up_to_its_longest_window() {
        for (set, longest, window) in [
            (None, None, None),
            (Some(8), None, Some(StatedWindow::Exactly(8))),
            (Some(8), Some(9), Some(StatedWindow::Exactly(8))),
            (Some(9), Some(8), Some(StatedWindow::Exactly(8))),
            (None, Some(8), Some(StatedWindow::AtMost(8))),
        ] {
            assert_eq!(ShownModel { set, longest }.window(), window);
        }
    }

    #[test]
    fn a_list_says_which_server_it_comes_from() {
        let body = br#"{"data":[{"id":"m","owned_by":"llamacpp"}]}"#;
        assert_eq!(listed(body, "m").owned_by.as_deref(), Some("llamacpp"));
    }

    #[test]
    fn llama_cpps_properties_give_the_window_of_a_request() {
        for (body, window) in [
            (
                r#"{"default_generation_settings":{"n_ctx":4096},"total_slots":1}"#,
                Some(4_096),
            ),
            (r#"{"default_generation_settings":{"n_ctx":0}}"#, None),
            (r#"{"n_ctx":4096}"#, None),
            ("not json", None),
        ] {
            assert_eq!(in_props(body.as_bytes()), window, "{body}");
        }
    }

    #[test]
    fn ollamas_description_gives_the_set_window_and_the_longest_one() {
        for (body, set, longest) in [
            (
                r#"{"parameters":"stop \"<|im_end|>\"\nnum_ctx                        8192\n","model_info":{"general.architecture":"llama","llama.context_length":131072}}"#,
                Some(8_192),
                Some(131_072),
            ),
            (
                r#"{"model_info":{"qwen2.context_length":32768}}"#,
                None,
                Some(32_768),
            ),
            (
                r#"{"parameters":"num_ctx many\nnum_predict 512"}"#,
                None,
                None,
            ),
            (r#"{"parameters":"num_ctx","model_info":[]}"#, None, None),
            ("{", None, None),
        ] {
            let expected = ShownModel { set, longest };
            assert_eq!(shown(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_loaded_model_has_the_window_it_was_loaded_with() {
        let body = br#"{"models":[{"name":"a:latest","model":"a:latest","context_length":4096},{"name":"b:7b","size":1}]}"#;
        assert_eq!(loaded(body, "a"), Some(4_096));
        assert_eq!(loaded(body, "a:latest"), Some(4_096));
        assert_eq!(loaded(body, "b:7b"), None);
        assert_eq!(loaded(body, "c"), None);
    }
}
