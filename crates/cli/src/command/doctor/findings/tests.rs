//! Tables of what the doctor sees and what it says about it.

use super::*;
use crate::command::Level;
use holon_daemon::HomeOwner;

fn level_of(finding: &Finding) -> (Level, bool) {
    (finding.level, finding.next_step.is_some())
}

const OK: (Level, bool) = (Level::Ok, false);
const WARNING: (Level, bool) = (Level::Warning, true);
const ERROR: (Level, bool) = (Level::Error, true);

#[test]
fn free_space_is_judged_by_what_a_host_needs() {
    for (free, expected) in [
        (None, OK),
        (Some(0), ERROR),
        (Some(LITTLE_SPACE - 1), ERROR),
        (Some(LITTLE_SPACE), WARNING),
        (Some(SOME_SPACE), OK),
        (Some(u64::MAX), OK),
    ] {
        assert_eq!(level_of(&disk(free)), expected, "{free:?}");
    }
}

#[test]
fn an_old_or_missing_git_is_a_warning() {
    for (version, expected) in [
        (Ok("2.47.3"), OK),
        (Ok("2.40.0"), OK),
        (Ok("3.0"), OK),
        (Ok("2.39.5"), WARNING),
        (Ok("1.9"), WARNING),
        (Ok("of the day"), OK),
        (Err("not found"), WARNING),
    ] {
        assert_eq!(level_of(&git(version)), expected, "{version:?}");
    }
}

#[test]
fn an_unusable_home_is_an_error_in_the_words_of_a_start() {
    for (state, expected) in [
        (Ok(HomeState::Private), OK),
        (Ok(HomeState::Missing), OK),
        (Ok(HomeState::NewAndLoose), OK),
        (Err("loose".to_owned()), ERROR),
    ] {
        let facts = MachineFacts {
            home_path: "/h".into(),
            home: state.clone(),
            token_problem: None,
            free_bytes: None,
            git: Ok("2.47".to_owned()),
            shell: None,
            terminal: Terminal {
                is_terminal: false,
                has_color: false,
                columns: None,
            },
        };
        assert_eq!(level_of(&home(&facts)), expected, "{state:?}");
    }
}

/// A host that runs, or none.
fn owner(word: &str) -> Option<HomeOwner> {
    (word != "none").then(|| HomeOwner {
        pid: 7,
        started: None,
        leaving: word == "leaving",
        is_host: word != "run",
    })
}

#[test]
fn the_socket_is_judged_together_with_the_owner() {
    use ControlAnswer::{Answered, Silent, Unasked};
    use SocketFound::{Absent, Foreign, Listening, Stale};
    for (word, socket_found, control, expected) in [
        ("none", Absent, Unasked, OK),
        ("none", Stale, Unasked, OK),
        ("none", Foreign, Unasked, ERROR),
        ("none", Listening, Unasked, ERROR),
        ("host", Listening, Answered, OK),
        ("host", Listening, Silent, ERROR),
        ("host", Absent, Unasked, ERROR),
        ("host", Stale, Unasked, ERROR),
        ("run", Absent, Unasked, OK),
    ] {
        let found = Found {
            owner: owner(word),
            record: None,
            socket: socket_found,
            socket_path: "/h/run/holon.sock".into(),
            control,
        };
        assert_eq!(
            level_of(&socket(&found, None)),
            expected,
            "{word} {socket_found:?} {control:?}"
        );
    }
}

#[test]
fn damage_of_the_database_is_named_up_to_a_bound() {
    let check = |count: usize| DatabaseCheck {
        bytes: Some(5 << 20),
        findings: (0..count)
            .map(|number| format!("problem {number}"))
            .collect(),
    };
    assert_eq!(level_of(&database(&check(0))), OK);
    assert!(database(&check(0)).message.starts_with("5.0 MB"));
    let damaged = database(&check(8));
    assert_eq!(level_of(&damaged), ERROR);
    assert!(
        damaged.message.ends_with("problem 4; and 3 more"),
        "{}",
        damaged.message
    );
}

#[test]
fn an_index_that_is_not_complete_is_a_warning_with_the_name_of_its_agent() {
    let check = |complete: usize, problems: usize| IndexCheck {
        complete,
        problems: (0..problems)
            .map(|number| (format!("agent-{number}"), "is torn".to_owned()))
            .collect(),
    };
    assert_eq!(level_of(&indexes(&check(0, 0))), OK);
    let sound = indexes(&check(2, 0));
    assert_eq!(level_of(&sound), OK);
    assert!(sound.message.contains("2 agents"), "{}", sound.message);
    let torn = indexes(&check(2, 7));
    assert_eq!(level_of(&torn), WARNING);
    assert!(
        torn.message.ends_with("agent-4: is torn; and 2 more"),
        "{}",
        torn.message
    );
    let next = torn.next_step.expect("a step");
    assert!(
        next.ends_with("holon memory rebuild --agent agent-0"),
        "{next}"
    );
}

#[test]
fn a_search_provider_that_lacks_a_key_is_a_warning() {
    assert!(search_providers(&[]).is_empty());
    let incomplete = IncompleteProvider {
        name: "mine".to_owned(),
        problem: "a search provider needs `kind`".to_owned(),
    };
    let [finding] = search_providers(&[incomplete]).try_into().expect("one");
    assert_eq!(level_of(&finding), WARNING);
    assert!(finding.message.contains("mine is not asked"));
}

#[test]
fn sizes_have_one_decimal() {
    for (bytes, words) in [
        (12, "12 bytes"),
        (1536, "1.5 KB"),
        (3 << 30, "3.0 GB"),
        (u64::MAX, "17179869183.9 GB"),
    ] {
        assert_eq!(size(bytes), words);
    }
}

#[test]
fn settings_that_are_too_large_are_named_with_their_agent() {
    assert_eq!(large_settings(&[]), []);
    let found = [(AgentId::parse("main").unwrap(), 4 << 20)];
    let [finding] = large_settings(&found).try_into().unwrap();
    assert_eq!(level_of(&finding), WARNING);
    assert!(finding.message.contains("main have 4.0 MB"), "{finding:?}");
    let next = finding.next_step.unwrap();
    assert!(next.ends_with("holon binding list main"), "{next}");
}
