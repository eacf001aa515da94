//! The context window that a server states about its model, in the shapes vendors use, and servers that state nothing.

use crate::wire::{KEY, asking, patient, router, spec};
use holon_domain::limits::{PROVIDER_DESCRIPTION_AGE_MS, PROVIDER_DESCRIPTION_PAUSE_MS};
use holon_domain::model::ModelRef;
use holon_domain::provider::StatedWindow;
use holon_llm::{HttpLimits, Router};
use holon_testkit::provider::{Fault, Protocol, Provider, Script, UnreachableAddress};
use serde_json::{Value, json};
use std::time::Duration;

fn model() -> ModelRef {
    ModelRef::parse("acme/m").unwrap()
}

/// Time of a round in tests that do not let time pass.
const NOW: Duration = Duration::ZERO;

async fn stated(router: &Router) -> Option<StatedWindow> {
    router.stated_window(&model(), NOW).await
}

/// Limits under which a silent server is given up soon.
fn hasty() -> HttpLimits {
    HttpLimits {
        description: Duration::from_millis(500),
        ..patient()
    }
}

const fn exactly(tokens: u32) -> Option<StatedWindow> {
    Some(StatedWindow::Exactly(tokens))
}

const fn at_most(tokens: u32) -> Option<StatedWindow> {
    Some(StatedWindow::AtMost(tokens))
}

fn at(provider: &Provider, limits: HttpLimits) -> Router {
    let base = format!("{}/v1", provider.base_url());
    router(spec(Protocol::Chat, &base), limits)
}

fn list(entry: &Value) -> Value {
    json!({ "object": "list", "data": [{ "id": "other", "max_model_len": 1 }, entry] })
}

fn looked(provider: &Provider) -> Vec<String> {
    let looks = provider.looks();
    looks
        .iter()
        .map(|look| format!("{} {}", look.method, look.path))
        .collect()
}

#[tokio::test]
async fn a_list_that_states_the_window_is_read_once_with_the_key() {
    for protocol in Protocol::ALL {
        let entry = json!({ "id": "m", "owned_by": "vllm", "max_model_len": 8_192 });
        let script = Script::of([]).models_document(list(&entry)).key(KEY);
        let provider = Provider::start(script);
        let router = router(spec(protocol, &provider.base_url()), patient());
        assert_eq!(stated(&router).await, exactly(8_192));
        assert_eq!(stated(&router).await, exactly(8_192));
        assert_eq!(provider.looks().len(), 1, "{protocol:?}");
        provider.finish();
    }
}

#[tokio::test]
async fn two_rounds_that_begin_together_ask_once() {
    let entry = json!({ "id": "m", "context_length": 65_536 });
    let provider = Provider::start(Script::of([]).models_document(list(&entry)));
    let router = at(&provider, patient());
    let model = model();
    let (one, other) = tokio::join!(
        router.stated_window(&model, NOW),
        router.stated_window(&model, NOW)
    );
    assert_eq!((one, other), (exactly(65_536), exactly(65_536)));
    assert_eq!(looked(&provider), ["GET /v1/models"]);
}

#[tokio::test]
async fn llama_cpp_is_asked_for_its_properties() {
    let entry = json!({ "id": "m", "owned_by": "llamacpp", "meta": { "n_ctx_train": 8_192 } });
    let props = json!({ "default_generation_settings": { "n_ctx": 4_096 }, "total_slots": 1 });
    let script = Script::of([]).models_document(list(&entry));
    let provider = Provider::start(script.description("/props", props));
    let router = at(&provider, patient());
    assert_eq!(stated(&router).await, exactly(4_096));
    assert_eq!(looked(&provider), ["GET /v1/models", "GET /props"]);
    provider.finish();
}

#[tokio::test]
async fn ollama_is_asked_for_the_window_that_is_set_or_loaded() {
    let longest = json!({ "model_info": { "llama.context_length": 131_072 } });
    let mut set = longest.clone();
    set["parameters"] = json!("stop \"<|end|>\"\nnum_ctx                        16384");
    let loaded =
        json!({ "models": [{ "name": "m:latest", "model": "m:latest", "context_length": 4_096 }] });
    let none = json!({ "models": [] });
    for (shown, running, window, asks_again) in [
        (&set, &none, exactly(16_384), false),
        (&set, &loaded, exactly(4_096), false),
        (&longest, &loaded, exactly(4_096), false),
        (&longest, &none, at_most(131_072), true),
    ] {
        let script = Script::of([])
            .models(&["m:latest"])
            .description("/api/show", shown.clone())
            .description("/api/ps", running.clone());
        let provider = Provider::start(script);
        let router = at(&provider, patient());
        assert_eq!(stated(&router).await, window);
        let first = looked(&provider);
        let expected = [
            "GET /v1/models",
            "GET /props",
            "POST /api/show",
            "GET /api/ps",
        ];
        assert_eq!(first, expected);
        assert_eq!(
            provider.looks().get(2).unwrap().body,
            json!({ "model": "m" })
        );
        assert_eq!(stated(&router).await, window);
        // The window of a model that is not loaded may still turn out to be smaller.
        assert_eq!(provider.looks().len() > first.len(), asks_again);
        provider.finish();
    }
}

#[tokio::test]
async fn lm_studio_is_asked_for_its_own_list() {
    let loaded = json!({ "id": "m", "state": "loaded", "max_context_length": 32_768, "loaded_context_length": 8_192 });
    let unloaded = json!({ "id": "m", "state": "not-loaded", "max_context_length": 32_768 });
    for (entry, window) in [(loaded, exactly(8_192)), (unloaded, at_most(32_768))] {
        let script = Script::of([]).models(&["m"]);
        let provider = Provider::start(script.description("/api/v0/models", list(&entry)));
        let router = at(&provider, patient());
        assert_eq!(stated(&router).await, window);
        provider.finish();
    }
}

#[tokio::test]
async fn a_bound_in_the_list_is_used_only_if_the_server_states_nothing_better() {
    let listed = json!({ "id": "m", "max_context_length": 32_768 });
    let props = json!({ "default_generation_settings": { "n_ctx": 4_096 } });
    let script = || Script::of([]).models_document(list(&listed));
    for (script, window) in [
        (script(), at_most(32_768)),
        (script().description("/props", props), exactly(4_096)),
    ] {
        let provider = Provider::start(script);
        let router = at(&provider, patient());
        assert_eq!(stated(&router).await, window);
        provider.finish();
    }
}

#[tokio::test]
async fn a_server_that_states_nothing_usable_is_asked_once() {
    let huge = Fault::HugeBody { bytes: 64 << 20 };
    let faults = [
        Fault::HtmlOk,
        Fault::TruncatedJson,
        Fault::ModelNotFound,
        Fault::GzipBomb,
        huge,
    ];
    for fault in faults {
        let provider = Provider::start(
            Script::of([])
                .models_fault(fault.clone())
                .description("/props", json!([1, 2]))
                .description("/api/show", json!("none"))
                .description_fault("/api/v0/models", Fault::HtmlOk),
        );
        let router = at(&provider, patient());
        assert_eq!(stated(&router).await, None, "{fault:?}");
        let asked = provider.looks().len();
        assert_eq!(stated(&router).await, None, "{fault:?}");
        assert_eq!(provider.looks().len(), asked, "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_credential_is_asked_again() {
    let provider = Provider::start(Script::of([]).models_fault(Fault::Unauthorized));
    let router = at(&provider, patient());
    assert_eq!(stated(&router).await, None);
    let asked = provider.looks().len();
    assert_eq!(stated(&router).await, None);
    assert!(
        provider.looks().len() > asked,
        "the credential may be renewed"
    );
}

#[tokio::test]
async fn a_silent_or_slow_server_costs_its_time_once_in_a_pause() {
    let slow = Fault::Drip {
        every: Duration::from_millis(20),
    };
    for fault in [Fault::NoAnswer, Fault::StallAfterHeaders, slow] {
        let provider = Provider::start(Script::of([]).models_fault(fault.clone()));
        let router = at(&provider, hasty());
        assert_eq!(stated(&router).await, None, "{fault:?}");
        assert_eq!(stated(&router).await, None, "{fault:?}");
        // On a busy machine the time may be over before the server has read the request.
        assert!(provider.looks().len() <= 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_that_was_silent_is_asked_again_after_a_pause() {
    let entry = json!({ "id": "m", "owned_by": "vllm", "max_model_len": 8_192 });
    let script = Script::of([])
        .models_document(list(&entry))
        .first_models_fault(Fault::NoAnswer);
    let provider = Provider::start(script);
    let router = at(&provider, hasty());
    let pause = Duration::from_millis(PROVIDER_DESCRIPTION_PAUSE_MS);
    let almost = pause.saturating_sub(Duration::from_millis(1));
    assert_eq!(router.stated_window(&model(), NOW).await, None);
    assert_eq!(router.stated_window(&model(), almost).await, None);
    assert!(provider.looks().len() <= 1, "the pause runs");
    // On a busy machine a try may be over before the server has read it, so there may be more than one.
    for now in [pause, pause * 3, pause * 7, pause * 15, pause * 31] {
        if let Some(stated) = router.stated_window(&model(), now).await {
            assert_eq!(Some(stated), exactly(8_192));
            return;
        }
    }
    panic!("the server stated a window and it was not heard");
}

#[tokio::test]
async fn a_server_that_is_starting_is_asked_again_but_not_at_every_round() {
    let provider = Provider::start(Script::of([]).models_fault(Fault::ServerError));
    let router = at(&provider, patient());
    for _ in 0..20 {
        assert_eq!(stated(&router).await, None);
    }
    assert_eq!(provider.looks().len(), 2);
}

#[tokio::test]
async fn a_server_that_stated_its_window_is_asked_again_after_an_hour() {
    let entry = json!({ "id": "m", "owned_by": "vllm", "max_model_len": 8_192 });
    let provider = Provider::start(Script::of([]).models_document(list(&entry)));
    let router = at(&provider, patient());
    let age = Duration::from_millis(PROVIDER_DESCRIPTION_AGE_MS);
    for (now, looks) in [(NOW, 1), (age / 2, 1), (age, 2)] {
        assert_eq!(router.stated_window(&model(), now).await, exactly(8_192));
        assert_eq!(provider.looks().len(), looks, "{now:?}");
    }
}

#[tokio::test]
async fn a_model_without_a_server_has_no_statement() {
    let unreachable = UnreachableAddress::take();
    let router = router(spec(Protocol::Chat, &unreachable.base_url()), hasty());
    assert_eq!(router.stated_window(&asking().model, NOW).await, None);
    for text in ["scripted/x.json", "unknown/m"] {
        let model = ModelRef::parse(text).unwrap();
        assert_eq!(router.stated_window(&model, NOW).await, None);
        assert_eq!(router.endpoint(&model), None);
    }
}

#[test]
fn the_endpoint_of_a_model_is_the_base_url_of_its_provider() {
    for base in ["http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/"] {
        let router = router(spec(Protocol::Chat, base), patient());
        let endpoint = router.endpoint(&model());
        assert_eq!(endpoint.as_deref(), Some("http://127.0.0.1:1/v1"));
    }
}
