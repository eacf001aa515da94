//! Credentials in the system's keyring, with a replacement of its program that keeps secrets in files.

use crate::looking::follow;
use crate::models::{Entry, configure};
use crate::support::{assert_output, record, wait_for_status, world};
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use holon_testkit::{ProgramOutput, World};
use std::os::unix::fs::PermissionsExt as _;

/// Stores its input in a file named like the profile, the last of its arguments.
const STAND_IN: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
verb=$1
for profile; do :; done
case $verb in
  store) cat > "$profile.kept" ;;
  lookup) cat "$profile.kept" ;;
  clear) rm -f "$profile.kept" ;;
esac
"#;

const SECRET: &str = "sk-kept-elsewhere";

fn with_keyring() -> World {
    let world = world();
    let program = world.write("bin/secret-tool", STAND_IN);
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program, runnable).unwrap();
    world
}

/// Runs the program with only the replacement and the system's own programs in the path.
fn run(world: &World, args: &[&str], input: &str) -> ProgramOutput {
    let path = format!("{}:/usr/bin:/bin", world.path().join("bin").display());
    world.run_in(args, input.as_bytes(), &[("PATH", &path)])
}

#[test]
fn a_key_in_the_keyring_is_used_shown_nowhere_and_removed_with_its_profile() {
    let world = with_keyring();
    let provider = Provider::start(Script::of([Round::text("Hello there.")]));
    let mut entry = Entry::new("work", Protocol::Chat, provider.base_url());
    entry.auth = Some(
        "{ source = \"credential_profile\", kind = \"api_key\", profile = \"mine\" }".to_owned(),
    );
    configure(&world, "model.default = \"work/any\"\n", &[entry]);

    let set = [
        "config",
        "credentials",
        "set",
        "mine",
        "--stdin",
        "--keyring",
    ];
    let mut said = record(&world, &set, &run(&world, &set, SECRET));
    for args in [
        ["config", "credentials", "list"].as_slice(),
        &["run", "hi"],
        &["config", "credentials", "remove", "mine"],
        &["run", "hi"],
    ] {
        said.push_str(&record(&world, args, &run(&world, args, "")));
    }
    assert_output!(said);
    let file = std::fs::read_to_string(world.home().join("credentials.json")).unwrap();
    assert!(!file.contains(SECRET), "{file}");
    assert!(!world.path().join("bin/mine.kept").exists());
    let [asked] = provider.requests().try_into().unwrap();
    assert_eq!(
        asked.header("authorization"),
        Some("Bearer sk-kept-elsewhere")
    );
    provider.finish();
}

#[test]
fn without_a_keyring_nothing_is_stored_and_the_file_is_offered() {
    let world = world();
    let set = [
        "config",
        "credentials",
        "set",
        "mine",
        "--stdin",
        "--keyring",
    ];
    let ran = world.run_in(&set, SECRET.as_bytes(), &[("PATH", "/nowhere")]);
    assert_output!(record(&world, &set, &ran));
    assert!(!world.home().join("credentials.json").exists());
}

#[test]
fn a_refused_credential_leaves_the_stored_one() {
    let world = with_keyring();
    let set = ["config", "credentials", "set", "mine", "--stdin"];
    let keep = [set.as_slice(), &["--keyring"]].concat();
    assert_eq!(run(&world, &keep, SECRET).code, Some(0));
    let refused = run(&world, &set, "sk-with-a-\u{7}-bell");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let kept = std::fs::read_to_string(world.path().join("bin/mine.kept")).unwrap();
    assert_eq!(kept, SECRET);
    assert_eq!(run(&world, &set, "sk-good").code, Some(0));
    assert!(!world.path().join("bin/mine.kept").exists());
}

/// A server that accepts the key `new` and refuses every other.
fn server() -> Provider {
    Provider::start(Script::choose(|request: &RecordedRequest| {
        match request.header("authorization") {
            Some("Bearer new") => Round::text("Back again."),
            _ => Round::fault(Fault::Unauthorized),
        }
    }))
}

#[test]
fn a_key_that_was_replaced_in_the_keyring_lets_the_turn_go_on_without_a_reload() {
    let world = with_keyring();
    let provider = server();
    let mut entry = Entry::new("work", Protocol::Chat, provider.base_url());
    entry.auth = Some(
        "{ source = \"credential_profile\", kind = \"api_key\", profile = \"mine\" }".to_owned(),
    );
    configure(&world, "model.default = \"work/any\"\n", &[entry]);
    let set = [
        "config",
        "credentials",
        "set",
        "mine",
        "--stdin",
        "--keyring",
    ];
    assert_eq!(run(&world, &set, "old").code, Some(0));
    let path = format!("{}:/usr/bin:/bin", world.path().join("bin").display());
    let served = world.serve_with(&[], &[("PATH", &path)]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    wait_for_status(&world, "is missing or refused");
    // The same steps as those of the command, which would also reload the settings of a host that it reaches.
    world.write("bin/mine.kept", "new");
    let file = world.home().join("credentials.json");
    let fresh = file.with_extension("fresh");
    std::fs::copy(&file, &fresh).unwrap();
    std::fs::rename(&fresh, &file).unwrap();
    let told = follow(&world, "main", 2);
    assert_eq!(told[1]["text"], "Back again.", "{told:?}");
    let step = told[0]["action_required"]["next_step"].as_str().unwrap();
    assert!(
        step.contains("holon config credentials set mine; the turn then goes on by itself"),
        "{step}"
    );
    assert_eq!(served.terminate().0, Some(0));
}
