//! A list of models of which some are unavailable.

use crate::looking::follow;
use crate::models::{Entry, configure, key_in};
use crate::support::{assert_output, hello, record, world};
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script, UnreachableAddress};

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

#[test]
fn a_question_for_a_server_that_is_down_reaches_no_provider_that_was_not_listed() {
    let world = world();
    let gone = UnreachableAddress::take();
    let cloud = Provider::start(Script::always(Round::text("from the cloud")));
    let entry = Entry::new("gone", Protocol::Chat, gone.base_url());
    configure(&world, "", &[entry]);
    let url = cloud.base_url();
    let foreign = [
        ("OPENAI_API_KEY", "sk-canary"),
        ("HOLON_OPENAI_BASE_URL", url.as_str()),
    ];
    let ran = world.run_in(&["run", "hi", "--model", "gone/one"], b"", &foreign);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("no connection to gone"), "{ran:?}");
    assert_eq!(cloud.finish().len(), 0, "{ran:?}");
}

#[test]
fn a_foreign_address_in_the_environment_stops_no_other_command() {
    let world = world();
    let foreign = [("OPENAI_BASE_URL", "http://proxy.example/v1?tenant=1")];
    let set = ["config", "set", "model.default", "ollama/mine"];
    assert_eq!(world.run_in(&set, b"", &foreign).code, Some(0));
    let served = world.serve(&["--model", &hello(&world)]);
    let status = world.run_in(&["status"], b"", &foreign);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert_eq!(served.terminate().0, Some(0));
    let asked = ["run", "hi", "--model", "openai/gpt-5.4"];
    let refused = world.run_in(&asked, b"", &foreign);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("OPENAI_BASE_URL: an address ends"),
        "{refused:?}"
    );
}
