//! A list of models of which some are unavailable.

use crate::looking::follow;
use crate::models::{Entry, configure, key_in};
use crate::support::{assert_output, hello, record, world};
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};

#[test]
fn a_run_needs_one_model_of_the_list_and_a_model_that_was_named_must_be_the_one() {
    let world = world();
    let settings = format!(
        "[model]\ndefault = \"openai/gpt-5.4\"\nfallbacks = [{:?}]\n",
        hello(&world)
    );
    configure(&world, &settings, &[]);
    let listed = world.run(&["run", "hi"]);
    assert_eq!(listed.answer(), "Hello there.\n");
    let named = ["run", "hi", "--model", "openai/gpt-5.4"];
    assert_output!(record(&world, &named, &world.run(&named)));
}

#[test]
fn a_wrong_key_of_the_first_model_is_told_although_another_answers() {
    let world = world();
    let refusing = Provider::start(Script::always(Round::fault(Fault::Unauthorized)));
    let entry = Entry {
        auth: key_in("FIRST_KEY"),
        ..Entry::new("first", Protocol::Chat, refusing.base_url())
    };
    let second = hello(&world);
    let settings = format!("[model]\ndefault = \"first/m\"\nfallbacks = [{second:?}]\n");
    configure(&world, &settings, &[entry]);
    let key = [("FIRST_KEY", "sk-canary-wrong")];
    let told = format!("answered by {second}; first/m failed: auth");
    let ran = world.run_in(&["run", "hi"], b"", &key);
    assert_eq!(ran.answer(), "Hello there.\n");
    assert_eq!(ran.stderr, format!("note: {told}\n"));
    let json = world.run_in(&["run", "hi", "--json"], b"", &key);
    assert_eq!((json.code, json.stderr.as_str()), (Some(0), ""));
    let served = world.serve_with(&[], &key);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    follow(&world, "main", 1);
    let transcript = world.run(&["transcript"]);
    assert!(transcript.answer().contains(&told), "{transcript:?}");
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert!(
        log.contains("WARN") && log.contains("model=first/m") && log.contains("kind=\"auth\""),
        "{log}"
    );
    assert!(!log.contains("sk-canary"), "{log}");
}
