//! `holon config` without a host: settings, providers, credentials, models and the doctor.

use crate::init::run;
use crate::support::{assert_output, record, records, world};
use holon_testkit::provider::{Fault, Provider, Round, Script};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn settings_are_written_shown_and_removed_and_comments_stay() {
    let world = world();
    world.write(
        "holon/config.toml",
        "# mine\n[model] # and this\ndefault = \"scripted/a.json\" # why\n",
    );
    assert_output!(records(
        &world,
        &[
            &["config", "get", "model.default"],
            &["config", "set", "model.default", "scripted/b.json"],
            &["config", "set", "model.fallbacks", "ollama/a, ollama/b"],
            &["config", "set", "runtime.max_output_tokens", "4096"],
            &["config", "get", "runtime.max_output_tokens", "--json"],
            &[
                "config",
                "get",
                "runtime.disable_provider_fallback",
                "--json"
            ],
            &["config", "list"],
            &["config", "list", "--json"],
            &["config", "unset", "model.fallbacks", "--json"],
            &["config", "unset", "model.fallbacks"],
            &["config", "get", "model"],
        ]
    ));
    let file = std::fs::read_to_string(world.home().join("config.toml")).unwrap();
    assert_eq!(
        file,
        "# mine\n[model] # and this\ndefault = \"scripted/b.json\" # why\n\n[runtime]\nmax_output_tokens = 4096\n"
    );
}

#[test]
fn what_counts_is_shown_with_who_set_it() {
    let world = world();
    world.write("holon/config.toml", "model.default = \"scripted/a.json\"\n");
    let variables = [("HOLON_MODEL_FALLBACKS", "ollama/a")];
    let ran = run(&world, &["config", "list", "--effective"], &variables);
    for line in [
        "model.default = scripted/a.json  [file]\n",
        "model.fallbacks = [\"ollama/a\"]  [environment]\n",
        "runtime.max_output_tokens = 8192  [builtin]\n",
    ] {
        assert!(ran.answer().contains(line), "{line}: {ran:?}");
    }
    let derived = run(
        &world,
        &["config", "list", "--effective", "--json", "--home", "other"],
        &[("ANTHROPIC_API_KEY", "sk-secret")],
    );
    let all = derived.json();
    let model = &all.as_array().unwrap()[0];
    assert_eq!(model["key"], "model.default");
    assert_eq!(model["source"], "credentials");
    assert!(!derived.stdout.contains("sk-secret"));
}

#[test]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    let world = world();
    assert_output!(records(
        &world,
        &[
            &["config", "set", "model.defualt", "a/b"],
            &["config", "set", "model.default", "nonsense"],
            &["config", "set", "model.default", "opena/gpt-5.4"],
            &["config", "set", "model.fallbacks", "ollama/a, nosuch/x"],
            &["config", "set", "serve.http_addr", "0.0.0.0:80"],
            &["config", "set", "serve.http_addr", "banana"],
            &["config", "set", "runtime.max_output_tokens", "many"],
            &["config", "set", "providers.mine", "x"],
            &["config", "get", "model.default"],
            &["config", "get", "nonsense"],
            &[
                "config",
                "providers",
                "set",
                "far",
                "--base-url",
                "https://far.example/v1"
            ],
            &[
                "config",
                "providers",
                "set",
                "far",
                "--base-url",
                "http://far.example/v1"
            ],
            &["config", "providers", "set", "far", "--base-url", "far"],
            &[
                "config",
                "providers",
                "set",
                "Far",
                "--base-url",
                "http://127.0.0.1:1"
            ],
            &["config", "providers", "get", "opena"],
            &["config", "providers", "doctor", "nosuch"],
            &["config", "providers", "remove", "openai"],
            &["config", "credentials", "remove", "openai"],
            &["--json", "config", "set", "nonsense", "x"],
        ]
    ));
    assert!(!world.home().join("config.toml").exists());
}

#[test]
fn a_file_that_cannot_be_read_can_be_put_right() {
    let world = world();
    world.write("holon/config.toml", "[model]\ndefualt = \"a/b\"\n");
    assert_eq!(world.run(&["config", "get", "model.default"]).code, Some(1));
    let mended = world.run(&["config", "unset", "model.defualt"]);
    assert_eq!(mended.answer(), "model.defualt is unset\n");
    assert_eq!(world.run(&["config", "list"]).code, Some(0));
}

#[test]
fn every_key_of_the_schema_can_be_asked_for() {
    let world = world();
    let schema = world.run(&["config", "schema", "--json"]).json();
    let keys: Vec<&str> = schema
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["key"].as_str().unwrap())
        .collect();
    assert!(
        keys.contains(&"model.fallbacks") && keys.len() > 20,
        "{keys:?}"
    );
    for key in keys.iter().filter(|key| !key.contains('<')) {
        let ran = world.run(&["config", "get", key]);
        let unset = ran.stderr.contains("is not set");
        assert!(ran.code == Some(0) || unset, "{key}: {ran:?}");
    }
    let text = world.run(&["config", "schema"]);
    assert!(
        text.answer().contains("runtime.max_output_tokens  (number from 1 to 100000000; default 8192; or HOLON_MAX_OUTPUT_TOKENS)\n"),
        "{text:?}"
    );
}

#[test]
fn a_credential_is_stored_from_standard_input_and_never_shown() {
    let world = world();
    let set = ["config", "credentials", "set", "openai", "--stdin"];
    let stored = world.run_with(&set, b"sk-very-secret\n");
    let mut said = record(&world, &set, &stored);
    for args in [
        ["config", "credentials", "list"].as_slice(),
        &["config", "credentials", "list", "--json"],
        &["config", "providers", "get", "openai"],
        &["config", "credentials", "remove", "openai", "--json"],
        &["config", "credentials", "list"],
        &["config", "credentials", "set", "openai"],
        &["config", "credentials", "set", "a b", "--stdin"],
        &[
            "config",
            "credentials",
            "set",
            "openai",
            "--material",
            "sk-x",
        ],
    ] {
        said.push_str(&record(&world, args, &world.run(args)));
    }
    for bad in [b"".as_slice(), b"a\nb\n", b"\xff"] {
        said.push_str(&record(&world, &set, &world.run_with(&set, bad)));
    }
    assert!(!said.contains("very-secret"), "{said}");
    assert_output!(said);
    let file = std::fs::metadata(world.home().join("credentials.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

#[test]
fn thinking_below_the_least_is_refused_and_above_the_output_limit_is_told() {
    let world = world();
    let set = |tokens| {
        let key = "models.catalog.\"mine/m\".thinking_tokens";
        world.run(&["config", "set", key, tokens])
    };
    let refused = set("500");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("1024"), "{refused:?}");
    assert_eq!(set("20000").code, Some(0));
    let listed = world.run(&["config", "models", "list", "--all"]);
    let line = listed
        .stdout
        .lines()
        .find(|line| line.starts_with("mine/m "));
    let line = line.unwrap_or_else(|| panic!("{listed:?}"));
    assert!(
        line.contains("thinks up to 9642 tokens, not 20000: its answers have at most 10666"),
        "{line}"
    );
}

#[test]
fn a_variable_that_is_not_set_is_named_where_a_provider_is_asked_without_it() {
    let world = world();
    let args = [
        "config",
        "providers",
        "set",
        "mine",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--credential-env",
        "MY_KEY",
    ];
    let set = world.run(&args);
    let line = "credential  none: MY_KEY is not set, so requests carry no credential\n";
    assert!(set.answer().contains(line), "{set:?}");
    let stored = ["config", "credentials", "set", "mine", "--stdin"];
    assert_eq!(world.run_with(&stored, b"sk-mine").code, Some(0));
    let get = world.run(&["config", "providers", "get", "mine"]);
    assert!(
        get.answer()
            .contains("credential  configured (profile mine)\n"),
        "{get:?}"
    );
}

#[test]
fn a_provider_is_added_looked_at_and_removed() {
    let world = world();
    assert_output!(records(
        &world,
        &[
            &[
                "config",
                "providers",
                "set",
                "mine",
                "--base-url",
                "http://127.0.0.1:9/v1"
            ],
            &[
                "config",
                "providers",
                "set",
                "work",
                "--transport",
                "openai_responses",
                "--base-url",
                "https://llm.example/v1",
                "--credential-command",
                "pass",
                "--credential-command",
                "llm"
            ],
            &["config", "providers", "get", "work"],
            &[
                "config",
                "providers",
                "set",
                "openai",
                "--credential-profile",
                "mine"
            ],
            &["config", "providers", "doctor", "openai"],
            &["config", "providers", "list"],
            &["config", "providers", "remove", "mine", "--json"],
            &["config", "providers", "remove", "work"],
            &["config", "list"],
        ]
    ));
}

#[test]
fn the_doctor_says_what_is_missing_and_ends_with_failure() {
    let world = world();
    let ran = run(&world, &["config", "doctor"], &[]);
    assert_output!(record(&world, &["config", "doctor"], &ran));
    let report = run(&world, &["config", "doctor", "--json"], &[]);
    assert_eq!(report.code, Some(1));
    let report = report.json();
    assert_eq!(report["can_work"], false);
    assert_eq!(report["retry_policy"]["max_retries_per_provider"], 2);
    assert!(report["providers"].as_array().unwrap().len() > 40);
}

#[test]
fn the_doctor_asks_every_model_of_the_chain_and_tells_what_came_of_it() {
    let world = world();
    let bad = Provider::start(Script::always(Round::fault(Fault::Unauthorized)));
    let good = Provider::start(Script::of([Round::text("ok")]));
    let config = format!(
        "model.default = \"bad/one\"\nmodel.fallbacks = [\"good/one\", \"openai/gpt-5.4\"]\n\
         [providers.bad]\ntransport = \"anthropic_messages\"\nbase_url = \"{}\"\n\
         [providers.good]\ntransport = \"openai_chat_completions\"\nbase_url = \"{}\"\n",
        bad.base_url(),
        good.base_url()
    );
    world.write("holon/config.toml", &config);
    let ran = world.run(&["config", "doctor", "--probe"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "models      1. bad/one: can be asked\n",
        "2. good/one: can be asked\n",
        "3. openai/gpt-5.4: cannot be asked: ",
        "asked       bad/one: auth after ",
        "asked       good/one: answered in ",
        "next        agents work with good/one, because bad/one did not answer: ",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    good.finish();
    let set = ["config", "set", "model.fallbacks", "[]"];
    assert_eq!(world.run(&set).code, Some(0));
    let alone = world.run(&["config", "doctor", "--probe", "--json"]);
    assert_eq!(alone.code, Some(1), "{alone:?}");
    let report = alone.json();
    assert_eq!(report["can_work"], false);
    assert_eq!(report["probes"][0]["failure_kind"], "auth");
    let one = world.run(&["config", "providers", "doctor", "bad", "--probe"]);
    assert_eq!(one.code, Some(1), "{one:?}");
    assert_eq!(bad.requests().len(), 3);
}

#[test]
fn models_that_can_be_asked_are_listed_and_the_others_on_demand() {
    let world = world();
    let list = |args: &[&str]| {
        let ran = run(&world, args, &[("ANTHROPIC_API_KEY", "sk-x")]);
        ran.json().as_array().unwrap().clone()
    };
    let ready = list(&["config", "models", "list", "--json"]);
    let of = |models: &[serde_json::Value], provider: &str| {
        let found = models.iter().find(|model| model["provider"] == provider);
        found.cloned()
    };
    assert!(of(&ready, "anthropic").is_some());
    assert_eq!(of(&ready, "openai"), None);
    let all = list(&["config", "models", "list", "--all", "--json"]);
    let other = of(&all, "openai").unwrap();
    assert_eq!(other["available"], false);
    assert!(
        other["next_step"]
            .as_str()
            .unwrap()
            .contains("OPENAI_API_KEY")
    );
}

#[test]
fn a_model_that_lacks_its_credential_is_set_and_what_is_missing_is_told() {
    let world = world();
    let ran = run(
        &world,
        &["config", "set", "model.default", "openai/gpt-5.4"],
        &[],
    );
    assert_eq!(ran.answer(), "model.default = openai/gpt-5.4\n");
    assert!(
        ran.stderr
            .starts_with("note: openai/gpt-5.4 cannot be asked yet: openai has no credential; ")
            && ran.stderr.contains("OPENAI_API_KEY"),
        "{ran:?}"
    );
    let json = run(
        &world,
        &["config", "set", "model.default", "openai/gpt-5.4", "--json"],
        &[],
    );
    assert_eq!((json.code, json.stderr.as_str()), (Some(0), ""));
    let ready = run(&world, &["config", "set", "model.default", "ollama/a"], &[]);
    assert_eq!((ready.code, ready.stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_doctor_does_not_call_ready_what_it_has_not_tried() {
    let world = world();
    let server = Provider::start(Script::always(Round::text("ok")));
    let config = format!(
        "model.default = \"here/one\"\nmodel.fallbacks = [\"printed/one\"]\n\
         [providers.here]\ntransport = \"openai_chat_completions\"\nbase_url = \"{0}\"\n\
         [providers.printed]\ntransport = \"openai_chat_completions\"\nbase_url = \"{0}\"\n\
         auth = {{ source = \"credential_process\", kind = \"api_key\", command = [\"echo\", \"sk-x\"] }}\n",
        server.base_url()
    );
    world.write("holon/config.toml", &config);
    let looked = world.run(&["config", "doctor"]);
    for part in [
        "1. here/one: not tried, use --probe\n",
        "2. printed/one: not tried, use --probe\n",
        "credential not needed, not tried, ",
        "credential a command prints it; not tried, use --probe, ",
    ] {
        assert!(looked.answer().contains(part), "{part}: {looked:?}");
    }
    let one = world.run(&["config", "providers", "doctor", "printed"]);
    let line = "credential  a command prints it; not tried, use --probe\n";
    assert!(one.answer().contains(line), "{one:?}");
    let here = world.run(&["config", "providers", "doctor", "here"]);
    assert!(
        here.answer().contains("server      not tried, use --probe"),
        "{here:?}"
    );
    for args in [
        ["config", "doctor", "--probe"].as_slice(),
        &["config", "providers", "doctor", "printed", "--probe"],
        &["config", "providers", "doctor", "here", "--probe"],
    ] {
        let asked = world.run(args);
        assert!(!asked.answer().contains("not tried, use"), "{asked:?}");
    }
}

#[test]
fn parts_of_a_request_are_left_out_by_word() {
    let world = world();
    let set = ["config", "providers", "set", "mine"];
    let good = [
        set.as_slice(),
        &["--base-url", "http://127.0.0.1:9/v1"],
        &["--omit", "streaming", "--omit", "stream_usage"],
    ]
    .concat();
    let ran = world.run(&good);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = "leaves out  stream_usage, streaming\n";
    let got = world.run(&["config", "providers", "get", "mine"]);
    assert!(got.answer().contains(shown), "{got:?}");
    let listed = world.run(&["config", "providers", "list"]);
    let row = "without stream_usage, streaming";
    assert!(listed.answer().contains(row), "{listed:?}");
    let bad = [set.as_slice(), &["--omit", "store"]].concat();
    assert_eq!(world.run(&bad).code, Some(2));
}

#[test]
fn a_protocol_that_cannot_be_read_is_not_replaced() {
    let world = world();
    let file =
        "[providers.mine]\ntransport = \"of_the_future\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    crate::models::configure(&world, file, &[]);
    let set = ["config", "providers", "set", "mine", "--base-url"];
    let ran = world.run(&[set.as_slice(), &["http://127.0.0.1:8/v1"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let left = std::fs::read_to_string(world.home().join("config.toml")).unwrap();
    assert_eq!(left, file.replace(":9/", ":8/"));
}
