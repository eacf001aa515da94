//! `ApplyPatch` as a free-text tool: models that support it write the diff itself, and nothing else differs.

use crate::models::{Entry, configure, key_in, together, tries};
use crate::support::world;
use holon_testkit::World;
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::{Value, json};

const FIRST: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+\"zwei\"\n";
const SECOND: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -2,2 +2,2 @@\n \"zwei\"\n-three\n+drei\n";

fn project() -> World {
    let world = world();
    world.write("project/a.txt", "one\ntwo\nthree\n");
    world
}

fn content(world: &World) -> String {
    std::fs::read_to_string(world.path().join("project/a.txt")).unwrap()
}

/// Runs the fallback chain of the settings in the project.
fn run(world: &World) -> Value {
    let root = world.path().join("project").display().to_string();
    let args = ["run", "translate", "--json", "--workspace-root", &root];
    let mut command = world.command();
    command.args(args).env("FAKE_KEY", "sk-fake");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the form in which the request offers `ApplyPatch`, and that of the other tools.
fn offered(request: &RecordedRequest) -> (Value, Value) {
    let tools = request.body["tools"].as_array().unwrap();
    let is_patch = |tool: &&Value| tool["name"] == "ApplyPatch";
    let patch = tools.iter().find(is_patch).unwrap();
    let other = tools.iter().find(|tool| !is_patch(tool)).unwrap();
    (patch["type"].clone(), other["type"].clone())
}

/// Returns the items of a kind in a request.
fn items<'a>(request: &'a RecordedRequest, kind: &str) -> Vec<&'a Value> {
    let items = request.body["input"].as_array().unwrap();
    items.iter().filter(|item| item["type"] == kind).collect()
}

fn entry(id: &str, protocol: Protocol, provider: &Provider) -> Entry {
    Entry {
        auth: key_in("FAKE_KEY"),
        ..Entry::new(id, protocol, provider.base_url())
    }
}

#[test]
fn a_model_known_to_take_free_text_patches_a_file_by_it() {
    let cases = [
        ("openai/gpt-5.4", Protocol::Responses),
        ("openai-codex/gpt-5.3-codex", Protocol::Codex),
    ];
    together(&cases, |(model, protocol)| {
        let world = project();
        let provider = Provider::start(Script::of([
            Round::text("I translate.").freeform_call("ApplyPatch", FIRST),
            Round::text("Done."),
        ]));
        let (id, _) = model.split_once('/').unwrap();
        let settings = format!("model.default = {model:?}\n");
        configure(&world, &settings, &[entry(id, *protocol, &provider)]);
        let answer = run(&world);
        assert_eq!(answer["final_text"], "Done.");
        assert_eq!(answer["tool_calls"], 1);
        assert_eq!(content(&world), "one\n\"zwei\"\nthree\n");
        let asked = provider.finish();
        assert_eq!(offered(&asked[0]), (json!("custom"), json!("function")));
        let [call] = items(&asked[1], "custom_tool_call")[..] else {
            panic!("{:#}", asked[1].body);
        };
        assert_eq!(call["input"], FIRST);
        assert_eq!(asked[1].tool_outputs(), ["M a.txt"]);
        assert_eq!(items(&asked[1], "custom_tool_call_output").len(), 1);
    });
}

#[test]
fn a_text_that_is_no_diff_is_refused_and_the_model_may_correct_it() {
    let world = project();
    let provider = Provider::start(Script::of([
        Round::empty().freeform_call("ApplyPatch", "*** Begin Patch\n*** End Patch\n"),
        Round::empty().freeform_call("ApplyPatch", FIRST),
        Round::text("Done."),
    ]));
    let settings = "model.default = \"openai/gpt-5.4\"\n";
    configure(
        &world,
        settings,
        &[entry("openai", Protocol::Responses, &provider)],
    );
    run(&world);
    assert_eq!(content(&world), "one\n\"zwei\"\nthree\n");
    let told = provider.finish()[1].tool_outputs().concat();
    assert!(told.contains("unsupported_dialect"), "{told}");
}

#[test]
fn the_settings_take_free_text_away_from_a_model_that_is_known_to_take_it() {
    let world = project();
    let provider = Provider::start(Script::of([
        Round::empty().call("ApplyPatch", json!({ "patch": FIRST })),
        Round::text("Done."),
    ]));
    let settings = "model.default = \"openai/gpt-5.4\"\n\
                    models.catalog.\"openai/gpt-5.4\".freeform_tools = false\n";
    configure(
        &world,
        settings,
        &[entry("openai", Protocol::Responses, &provider)],
    );
    run(&world);
    assert_eq!(content(&world), "one\n\"zwei\"\nthree\n");
    let asked = provider.finish();
    assert_eq!(offered(&asked[0]), (json!("function"), json!("function")));
    assert_eq!(items(&asked[1], "function_call").len(), 1);
}

/// Runs a turn in which the first model patches and then fails, and the second, with another tool form, continues.
fn handed_over(
    first: (Protocol, Round),
    second: (Protocol, Round),
    settings: &str,
) -> Vec<RecordedRequest> {
    let world = project();
    let a = Provider::start(Script::of([first.1, Round::fault(Fault::Unauthorized)]));
    let b = Provider::start(Script::of([second.1, Round::text("Done.")]));
    let entries = [entry("a", first.0, &a), entry("b", second.0, &b)];
    let chain = "model.default = \"a/one\"\nmodel.fallbacks = [\"b/two\"]\n";
    configure(&world, &format!("{chain}{settings}"), &entries);
    let answer = run(&world);
    assert_eq!(
        tries(&answer),
        [
            "a/one succeeded",
            "a/one auth fail_fast_aborted next model",
            "b/two succeeded",
            "b/two succeeded",
        ]
    );
    assert_eq!(content(&world), "one\n\"zwei\"\ndrei\n");
    a.finish();
    b.finish()
}

#[test]
fn a_turn_goes_on_with_a_model_that_takes_its_tools_in_another_form() {
    let text = |patch| Round::empty().freeform_call("ApplyPatch", patch);
    let json = |patch| Round::empty().call("ApplyPatch", json!({ "patch": patch }));
    let takes = |model: &str| format!("models.catalog.{model:?}.freeform_tools = true\n");

    // From free text to functions.
    let asked = handed_over(
        (Protocol::Responses, text(FIRST)),
        (Protocol::Responses, json(SECOND)),
        &takes("a/one"),
    );
    assert!(items(&asked[1], "custom_tool_call").is_empty());
    assert_eq!(items(&asked[1], "function_call").len(), 2);
    assert_eq!(asked[1].tool_outputs(), ["M a.txt", "M a.txt"]);

    // From functions to free text.
    let asked = handed_over(
        (Protocol::Messages, json(FIRST)),
        (Protocol::Codex, text(SECOND)),
        &takes("b/two"),
    );
    let texts: Vec<&Value> = items(&asked[1], "custom_tool_call")
        .into_iter()
        .map(|item| &item["input"])
        .collect();
    assert_eq!(texts, [FIRST, SECOND]);
    assert!(items(&asked[1], "function_call").is_empty());

    // A protocol without free-text tools never gets one, with any setting.
    let asked = handed_over(
        (Protocol::Codex, text(FIRST)),
        (Protocol::Chat, json(SECOND)),
        &format!("{}{}", takes("a/one"), takes("b/two")),
    );
    assert_eq!(asked[1].tool_outputs().len(), 2);
    assert!(!asked[1].contains("custom"));
}
