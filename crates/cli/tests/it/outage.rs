//! Providers that cannot answer for a while, against the real host: nothing is lost, and the operator is informed.

use crate::looking::follow;
use crate::support::{wait_for_status, world};
use serde_json::json;

#[test]
fn a_prompt_outlives_an_outage_and_the_death_of_its_host() {
    let world = world();
    let failing = json!({ "kind": "network", "message": "no route to host", "times": 2 });
    let model = world.model(
        "offline",
        &json!([{ "text": "Back again.", "error": failing }]),
    );
    let flags = ["--model", model.as_str()];
    let served = world.serve(&flags);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    wait_for_status(&world, "suspended because there is no network");
    served.crash();
    let served = world.serve(&flags);
    let told = follow(&world, "main", 1);
    assert_eq!(told[0]["text"], "Back again.", "{told:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_refused_credential_asks_the_operator_to_act_and_a_start_goes_on_with_the_turn() {
    let world = world();
    let refused = json!({ "kind": "auth", "message": "the key is not valid", "times": 1 });
    let model = world.model(
        "locked",
        &json!([{ "text": "Back again.", "error": refused }]),
    );
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    wait_for_status(&world, "is missing or refused (the key is not valid)");
    let briefs = world.run(&["tail"]);
    assert!(briefs.answer().contains("Next step:"), "{briefs:?}");
    assert_eq!(world.run(&["agent", "start"]).code, Some(0));
    let told = follow(&world, "main", 2);
    assert_eq!(told[0]["action_required"]["code"], "provider_auth");
    assert_eq!(told[1]["text"], "Back again.", "{told:?}");
    assert_eq!(served.terminate().0, Some(0));
}
