//! What an agent is told of its place and of the moment, through the program and a provider.

use crate::instructions::{provider_of, system_prompt};
use crate::support::world;
use crate::worktrees::{git, repository};
use holon_testkit::provider::{RecordedRequest, Round, Script};
use serde_json::json;
use std::fs;

/// Returns the texts of the user's messages of a request.
fn user_texts(request: &RecordedRequest) -> Vec<String> {
    let messages = request.body["messages"].as_array().unwrap().iter();
    let of_user = messages.filter(|message| message["role"] == "user");
    of_user
        .map(|message| match message["content"].as_str() {
            Some(text) => text.to_owned(),
            None => message["content"].to_string(),
        })
        .collect()
}

/// Returns the line about the repository in the newest message that has one.
fn repository_line(request: &RecordedRequest) -> String {
    let texts = user_texts(request);
    let mut lines = texts.iter().rev().flat_map(|text| text.lines());
    let line = lines.find(|line| line.starts_with("Repository: "));
    line.unwrap_or_else(|| panic!("{texts:?}")).to_owned()
}

#[test]
fn a_turn_names_the_zone_the_branch_and_the_changes_and_the_next_turn_repeats_it() {
    let world = world();
    let repo = repository(&world);
    let head = git(&repo, &["rev-parse", "HEAD"]);
    let script = Script::of([
        Round::text("I look.").call(
            "ExecCommand",
            json!({ "cmd": "git checkout -q -b other && date > new" }),
        ),
        Round::text("Done."),
        Round::text("Done again."),
    ]);
    let provider = provider_of(&world, script);
    let set = world.run(&["config", "set", "operator.time_zone", "Asia/Kathmandu"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let served = world.serve(&[]);
    let created = world.run(&["agent", "create", "scout", "--workspace-root", "project"]);
    assert_eq!(created.code, Some(0), "{created:?}");
    let run = || {
        let ran = world.run(&["run", "go on", "--agent", "scout"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    run();
    let requests = provider.requests();
    let system = system_prompt(&requests[0]);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for fact in [
        format!("repository_root: {}", repo.display()),
        format!("host_name: {}", host.trim()),
        "operator_time_zone: Asia/Kathmandu".to_owned(),
        "system: Linux (".to_owned(),
        "shell: /".to_owned(),
    ] {
        assert!(system.contains(&fact), "{fact} in {system}");
    }
    let short: String = head.chars().take(10).collect();
    let clean = format!("Repository: branch \"main\" at {short}, no changes.");
    assert_eq!(repository_line(&requests[0]), clean);
    assert_eq!(
        repository_line(&requests[1]),
        clean,
        "later rounds show the same"
    );
    let texts = user_texts(&requests[0]).join("\n");
    assert!(
        texts.contains(" in Asia/Kathmandu (UTC+05:45).\nRepository: "),
        "{texts}"
    );

    run();
    let third = &provider.requests()[2];
    let dirty =
        format!("Repository: branch \"other\" at {short}, with changes that are not committed.");
    assert_eq!(repository_line(third), dirty);
    let texts = user_texts(third).join("\n");
    assert_eq!(
        texts.matches(&clean).count(),
        1,
        "the past turn shows its own: {texts}"
    );
    assert_eq!(system_prompt(third), system, "the base is frozen");

    for args in [&["tail"][..], &["tail", "--after", "0"]] {
        let shown = world.run(&[args, &["--agent", "scout"]].concat());
        let rows = shown.answer().lines().filter(|line| line.starts_with("20"));
        let rows: Vec<&str> = rows.collect();
        assert!(!rows.is_empty(), "{shown:?}");
        for row in rows {
            let (time, _) = row.split_once(' ').unwrap();
            assert!(time.ends_with("+05:45"), "{row}");
        }
    }

    let wrong = world.run(&["config", "set", "operator.time_zone", "Nowhere/City"]);
    assert_ne!(wrong.code, Some(0), "{wrong:?}");
    drop(served);
    provider.finish();
}
