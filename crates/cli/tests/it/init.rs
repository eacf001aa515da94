//! `holon init`: finding a model on this machine, probing it, setting it.

use crate::support::{FILTERS, record, world};
use crate::terminal::Terminal;
use holon_testkit::provider::{Fault, Provider, Round, Script};
use holon_testkit::{ProgramOutput, World};

/// Address without a listener: local servers of the machine that runs the tests must not be found.
const UNUSED_ADDRESS: &str = "http://127.0.0.1:1/v1";
const LOCAL: [&str; 5] = [
    "HOLON_OLLAMA_BASE_URL",
    "HOLON_LMSTUDIO_BASE_URL",
    "HOLON_LLAMACPP_BASE_URL",
    "HOLON_VLLM_BASE_URL",
    "HOLON_LITELLM_BASE_URL",
];

/// Runs the program with these variables.
pub(crate) fn run(world: &World, args: &[&str], variables: &[(&str, &str)]) -> ProgramOutput {
    let local = LOCAL.map(|name| (name, UNUSED_ADDRESS));
    world.run_in(args, b"", &[local.as_slice(), variables].concat())
}

/// Compares with the stored snapshot, without the latency of the model.
macro_rules! assert_init_output {
    ($world:expr, $args:expr, $ran:expr) => {
        let mut filters = FILTERS.to_vec();
        filters.push((r"\d+ ms", "[MS] ms"));
        insta::with_settings!({ filters => filters, omit_expression => true }, {
            insta::assert_snapshot!(record($world, $args, $ran));
        })
    };
}

fn default_model(world: &World) -> Option<String> {
    let ran = run(world, &["config", "list", "--json"], &[]);
    ran.json()["model.default"].as_str().map(str::to_owned)
}

#[test]
fn with_nothing_on_the_machine_it_says_how_to_get_something() {
    let world = world();
    let ran = run(&world, &["init"], &[]);
    assert_init_output!(&world, &["init"], &ran);
    assert_eq!(ran.stdout, "", "a failure is told on standard error");
    let ran = run(&world, &["init", "--json"], &[]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.json()["ways"].as_array().unwrap().len(), 3);
    assert!(!world.home().exists(), "looking makes no home");
}

#[test]
fn a_key_in_the_environment_is_tried_set_and_used() {
    let world = world();
    let rounds = [Round::text("ok"), Round::text("At work.")];
    let provider = Provider::start(Script::of(rounds).key("sk-test"));
    let (url, key) = (provider.base_url(), ("OPENAI_API_KEY", "sk-test"));
    let variables = [key, ("HOLON_OPENAI_BASE_URL", url.as_str())];
    let ran = run(&world, &["init"], &variables);
    assert_init_output!(&world, &["init"], &ran);
    assert!(default_model(&world).unwrap().starts_with("openai/"));
    let answer = run(&world, &["run", "hi"], &variables);
    assert_eq!(answer.answer(), "At work.\n");
    provider.finish();
}

#[test]
fn a_local_server_is_found_and_asked_for_a_model_that_answers() {
    let world = world();
    let script = Script::of([Round::text("ok")]).models(&["nomic-embed-text", "qwen3:8b"]);
    let provider = Provider::start(script);
    let url = provider.base_url();
    let ran = run(&world, &["init"], &[("HOLON_OLLAMA_BASE_URL", &url)]);
    assert_init_output!(&world, &["init"], &ran);
    assert_eq!(default_model(&world).as_deref(), Some("ollama/qwen3:8b"));
}

#[test]
fn a_model_that_does_not_answer_is_told_and_the_next_one_is_tried() {
    let world = world();
    let refusing = Provider::start(Script::of([Round::fault(Fault::Unauthorized)]));
    let local = Provider::start(Script::of([Round::text("ok")]).models(&["small"]));
    let (a, b) = (refusing.base_url(), local.base_url());
    let variables = [
        ("OPENAI_API_KEY", "sk-wrong"),
        ("HOLON_OPENAI_BASE_URL", a.as_str()),
        ("HOLON_LLAMACPP_BASE_URL", b.as_str()),
    ];
    let ran = run(&world, &["init"], &variables);
    assert!(!ran.stdout.contains("sk-wrong"), "{ran:?}");
    assert_init_output!(&world, &["init"], &ran);
    assert_eq!(default_model(&world).as_deref(), Some("llamacpp/small"));
}

#[test]
fn when_no_model_answers_nothing_is_set() {
    let world = world();
    let refusing = Provider::start(Script::always(Round::fault(Fault::Unauthorized)));
    let url = refusing.base_url();
    let variables = [
        ("OPENAI_API_KEY", "sk-wrong"),
        ("HOLON_OPENAI_BASE_URL", url.as_str()),
    ];
    let ran = run(&world, &["init"], &variables);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("no model answered; nothing was set"),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, "", "a failure is told on standard error");
    assert!(!world.home().join("config.toml").exists());
    let trusting = run(&world, &["init", "--no-probe", "--json"], &variables);
    assert_eq!(trusting.code, Some(0), "{trusting:?}");
    assert_eq!(refusing.requests().len(), 1, "no model was asked again");
    assert!(default_model(&world).unwrap().starts_with("openai/"));
}

#[test]
fn a_choice_that_was_made_stays_until_it_is_to_be_replaced() {
    let world = world();
    let (mine, other) = (
        crate::support::hello(&world),
        world.model("other", &serde_json::json!([{ "text": "ok" }])),
    );
    let set = run(&world, &["init", "--model", &mine], &[]);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(
        set.stdout
            .starts_with(&format!("found       {mine}, by your choice\n")),
        "{set:?}"
    );
    let again = run(&world, &["init"], &[]);
    assert_init_output!(&world, &["init"], &again);
    let refused = run(&world, &["init", "--model", &other], &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("holon init --force"), "{refused:?}");
    assert_eq!(default_model(&world).as_deref(), Some(mine.as_str()));
    let forced = run(&world, &["init", "--model", &other, "--force"], &[]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert_eq!(default_model(&world).as_deref(), Some(other.as_str()));
}

#[test]
fn a_running_litellm_is_found() {
    let world = world();
    let script = Script::of([Round::text("ok")]).models(&["gpt-4o"]);
    let provider = Provider::start(script);
    let url = provider.base_url();
    let ran = run(
        &world,
        &["init", "--json"],
        &[("HOLON_LITELLM_BASE_URL", &url)],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let model = default_model(&world).unwrap();
    assert_eq!(model, "litellm/gpt-4o");
    provider.finish();
}

#[test]
fn a_chosen_model_stays_although_a_variable_names_another() {
    let world = world();
    let set = ["config", "set", "model.default", "ollama/mine"];
    assert_eq!(run(&world, &set, &[]).code, Some(0));
    let other = [("HOLON_MODEL", "ollama/other")];
    let ran = run(
        &world,
        &["init", "--model", "ollama/third", "--no-probe"],
        &other,
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("model.default is ollama/mine already"),
        "{ran:?}"
    );
    assert_eq!(default_model(&world).as_deref(), Some("ollama/mine"));
}

/// A scripted OpenAI with a key and a scripted local server, each of which answers once.
struct TwoProviders {
    cloud: Provider,
    local: Provider,
}

impl TwoProviders {
    fn start() -> Self {
        let local = Script::of([Round::text("ok")]).models(&["small"]);
        Self {
            cloud: Provider::start(Script::of([Round::text("ok")])),
            local: Provider::start(local),
        }
    }

    /// Runs a command that finds both.
    fn with<T>(&self, run: impl FnOnce(&[(&str, &str)]) -> T) -> T {
        let (cloud, local) = (self.cloud.base_url(), self.local.base_url());
        let both = [
            ("OPENAI_API_KEY", "sk-test"),
            ("HOLON_OPENAI_BASE_URL", cloud.as_str()),
            ("HOLON_LLAMACPP_BASE_URL", local.as_str()),
        ];
        run(&both)
    }
}

fn fallbacks(world: &World) -> serde_json::Value {
    let ran = run(world, &["config", "list", "--json"], &[]);
    ran.json()["model.fallbacks"].clone()
}

/// Runs `init` on a terminal and answers its question.
fn init_on_a_terminal(world: &World, providers: &TwoProviders, reply: &str) -> String {
    providers.with(|both| {
        let local = LOCAL.map(|name| (name, UNUSED_ADDRESS));
        let variables = [local.as_slice(), both].concat();
        let mut terminal = Terminal::start_attended(world, &["init"], &variables);
        terminal.wait_for("Set as fallbacks? [y/N]");
        terminal.type_line(reply);
        terminal.finish()
    })
}

#[test]
fn without_a_terminal_no_fallback_is_set_unless_a_flag_says_so() {
    let (world, providers) = (world(), TwoProviders::start());
    let ran = providers.with(|both| run(&world, &["init"], both));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(default_model(&world).unwrap().starts_with("openai/"));
    assert!(fallbacks(&world).is_null(), "{ran:?}");
    assert!(providers.local.requests().is_empty(), "it is not asked");
    let set = providers.with(|both| run(&world, &["init", "--fallbacks", "--json"], both));
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(set.json()["fallbacks"][0], "llamacpp/small");
    assert_eq!(fallbacks(&world)[0], "llamacpp/small");
    assert!(default_model(&world).unwrap().starts_with("openai/"));
    providers.local.finish();
}

#[test]
fn on_a_terminal_fallbacks_are_proposed_and_set_only_after_a_yes() {
    for (reply, is_set) in [("y", true), ("n", false), ("", false)] {
        let (world, providers) = (world(), TwoProviders::start());
        let shown = init_on_a_terminal(&world, &providers, reply);
        assert!(
            shown.contains("llamacpp/small could be asked when openai/"),
            "{shown}"
        );
        let set = "set         model.fallbacks = llamacpp/small";
        assert_eq!(shown.contains(set), is_set, "{reply:?}: {shown}");
        assert_eq!(!fallbacks(&world).is_null(), is_set, "{reply:?}");
        assert_eq!(providers.local.requests().len(), usize::from(is_set));
    }
}

#[test]
fn a_fallback_that_does_not_answer_is_not_set_and_chosen_ones_stay() {
    let (world, mut providers) = (world(), TwoProviders::start());
    let refusing = Script::always(Round::fault(Fault::Unauthorized)).models(&["small"]);
    providers.local = Provider::start(refusing);
    let ran = providers.with(|both| run(&world, &["init", "--fallbacks"], both));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("asked       llamacpp/small: auth"),
        "{ran:?}"
    );
    assert!(fallbacks(&world).is_null(), "{ran:?}");
    let mine = ["config", "set", "model.fallbacks", "ollama/mine"];
    assert_eq!(run(&world, &mine, &[]).code, Some(0));
    let again = providers.with(|both| run(&world, &["init", "--fallbacks", "--no-probe"], both));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(fallbacks(&world)[0], "ollama/mine");
}

#[test]
fn the_window_that_a_server_states_is_shown() {
    let world = world();
    let list =
        serde_json::json!({ "data": [{ "id": "m", "owned_by": "vllm", "max_model_len": 8_192 }] });
    let script = Script::of([Round::text("ok")]).models_document(list);
    let provider = Provider::start(script);
    let url = provider.base_url();
    let ran = run(&world, &["init"], &[("HOLON_VLLM_BASE_URL", &url)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = "window      8192 tokens, as its server says; that is little for an agent";
    assert!(ran.stdout.contains(words), "{ran:?}");
}
