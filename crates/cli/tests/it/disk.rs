//! A full disk: a small file system of its own, mounted in a private namespace of the test's commands.

use crate::support::{doer, hello, world};
use holon_testkit::World;
use std::process::{Command, Output};

/// If this variable is set, a system without private mounts fails the test instead of skipping it.
const NEEDED: &str = "HOLON_TESTS_NEED_NAMESPACES";

/// Runs a shell script with a small file system mounted on `small`.
fn on_small_disk(world: &World, script: &str) -> Option<Output> {
    on_disk(world, "size=2m", script)
}

/// Runs a shell script with a file system of these options mounted on `small`. Needs no root where user namespaces are
/// allowed. Everything that the script started ends with it.
pub(crate) fn on_disk(world: &World, options: &str, script: &str) -> Option<Output> {
    std::fs::create_dir(world.path().join("small")).unwrap();
    let run = |script: &str| {
        let mount = format!("mount -t tmpfs -o {options},mode=700 tmpfs small");
        Command::new("unshare")
            .args([
                "-Urmpf",
                "--kill-child",
                "sh",
                "-c",
                &format!("{mount} && {script}"),
            ])
            .current_dir(world.path())
            .output()
            .ok()
    };
    if run("true").is_some_and(|probe| probe.status.success()) {
        return run(script);
    }
    #[allow(
        clippy::disallowed_methods,
        reason = "what a test may leave out is not a setting of the product"
    )]
    let is_needed = std::env::var_os(NEEDED).is_some_and(|value| !value.is_empty());
    assert!(
        !is_needed,
        "{NEEDED} is set, and there are no private mounts"
    );
    eprintln!(
        "not checked here: no private mounts on this system, so there is no small disk to fill"
    );
    None
}

/// Returns standard output and standard error of a script.
pub(crate) fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Returns the shell functions of the scripts: the program on the small disk, a host in the background, and filling the
/// disk to the last file and byte.
pub(crate) fn prelude(model: &str) -> String {
    let program = env!("CARGO_BIN_EXE_holon");
    format!(
        "holon() {{ {program} \"$@\" --home small/h; }}
         serve() {{ {program} serve --home small/h --port 0 --model {model} > $1 2> $1.log; }}
         up() {{ until grep -q logs: $1; do kill -0 $host || {{ cat $1.log; exit 8; }}; done; }}
         crowd() {{ mkdir small/many; n=0; while touch small/many/$n; do n=$((n + 1)); done 2> /dev/null; }}
         fill() {{ cat /dev/zero > small/filler 2> /dev/null; until ! printf x >> small/filler; do :; done 2> /dev/null; }}
         "
    )
}

#[test]
fn on_a_full_disk_a_host_refuses_what_it_cannot_keep_and_goes_on_when_there_is_space() {
    let world = world();
    let model = hello(&world);
    world.write("large", &"a".repeat(1_000_000));
    let script = format!(
        "holon() {{ {} \"$@\" --home small/h; }}
         holon serve --port 0 --model {model} > ready 2> log &
         until grep -q logs: ready; do :; done
         cat /dev/zero > small/filler 2> /dev/null
         holon prompt - < large; echo refused $?
         rm small/filler
         holon run hi --agent main; echo after $?",
        env!("CARGO_BIN_EXE_holon")
    );
    let Some(output) = on_small_disk(&world, &script) else {
        return;
    };
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(said, "refused 1\nHello there.\nafter 0\n", "{errors}");
    assert!(
        errors.contains("error: the disk is full\nnext: free some space"),
        "{errors}"
    );
}

#[test]
fn a_command_that_fills_the_disk_ends_as_it_would_and_its_result_arrives_when_there_is_space() {
    let world = world();
    let cmd =
        "head -c 4000000 /dev/zero | tr '\\0' x; echo odd >&2; echo ran >> ../../../../ran; exit 3";
    let model = doer(&world, cmd);
    let script = format!(
        "holon() {{ {} \"$@\" --home small/h; }}
         holon serve --port 0 --model {model} > ready 2> log &
         until grep -q logs: ready; do :; done
         holon run hi --agent main > answer &
         until grep -q 'the disk is full' log; do :; done
         until holon status | grep '^why' | grep -q 'waits for space on the disk'; do
             looks=$((looks + 1)); [ $looks -lt 1000 ] || exit 9
         done
         rm small/h/agents/main/task-output/*
         wait $!; echo after $?",
        env!("CARGO_BIN_EXE_holon")
    );
    let Some(output) = on_small_disk(&world, &script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "after 0\n", "{output:?}");
    let read = |name: &str| std::fs::read_to_string(world.path().join(name)).unwrap();
    let answer = read("answer");
    assert!(answer.starts_with("Saw: exit 3 ("), "{answer}");
    assert!(answer.contains(" bytes left out]"), "{answer}");
    assert_eq!(read("ran"), "ran\n");
}

#[test]
fn a_host_that_cannot_take_up_work_on_a_full_disk_can_be_looked_at_and_goes_on_when_there_is_space()
{
    let world = world();
    let model = doer(
        &world,
        "echo ran >> ../../../../ran; until [ -e ../../../../go ]; do :; done",
    );
    let script = format!(
        "{}
         serve first & host=$!
         up first
         holon prompt hi > /dev/null
         until [ -s ran ]; do :; done
         kill -9 $(cat small/h/run/daemon.json | sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p'); wait $host
         fill
         serve second & host=$!
         until grep -q 'not up' second.log; do kill -0 $host || {{ cat second.log; exit 8; }}; done
         holon status > looked; echo status $?
         holon prompt more; echo prompt $?
         rm small/filler; touch go
         up second
         holon prompt more > /dev/null; echo after $?",
        prelude(&model)
    );
    let Some(output) = on_small_disk(&world, &script) else {
        return;
    };
    let (said, errors) = said(&output);
    assert_eq!(said, "status 0\nprompt 1\nafter 0\n", "{errors}");
    assert!(
        errors.contains("error: the disk is full\nnext: free some space"),
        "{errors}"
    );
}

#[test]
fn a_host_started_on_a_disk_filled_to_the_last_byte_answers_and_goes_on_when_there_is_space() {
    let world = world();
    let model = hello(&world);
    world.write("large", &"a".repeat(200_000));
    let script = format!(
        "{}
         serve first & host=$!
         up first
         holon run hi --agent main
         kill $(sed -n 1p small/h/run/holon.lock); wait $host
         fill
         serve second & host=$!
         up second
         holon transcript | grep -c Hello
         holon prompt - < large; echo prompt $?
         holon prompt - < large; echo prompt $?
         grep -c 'disk is full' second.log
         rm small/filler
         holon run hi --agent main; echo after $?",
        prelude(&model)
    );
    let Some(output) = on_disk(&world, "size=6m", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    let expected = "Hello there.\n1\nprompt 1\nprompt 1\n1\nHello there.\nafter 0\n";
    assert_eq!(said, expected, "{errors}");
    assert_eq!(
        errors.matches("error: the disk is full").count(),
        2,
        "{errors}"
    );
}

#[test]
fn a_first_start_on_a_disk_filled_to_the_last_byte_waits_and_says_so() {
    let world = world();
    let model = hello(&world);
    let script = format!(
        "{}
         fill
         serve first & host=$!
         until grep -q 'not up' first.log; do kill -0 $host || {{ cat first.log; exit 8; }}; done
         holon status; echo status $?
         rm small/filler
         up first
         until [ -s small/h/run/control.token ]; do :; done
         holon run hi --agent main; echo after $?",
        prelude(&model)
    );
    let Some(output) = on_disk(&world, "size=6m", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    assert_eq!(said, "status 1\nHello there.\nafter 0\n", "{errors}");
    let words = "error: the host is not up yet, because the disk is full\nnext: free some space";
    assert!(errors.contains(words), "{errors}");
}

#[test]
fn a_host_started_where_no_file_can_be_made_comes_up_and_makes_its_own_when_one_can() {
    let world = world();
    let model = hello(&world);
    let script = format!(
        "{}
         serve first & host=$!
         up first
         holon run hi --agent main
         kill $(sed -n 1p small/h/run/holon.lock); wait $host
         rm small/h/run/control.token
         crowd
         serve second & host=$!
         up second
         ls small/h/run
         rm -r small/many
         until [ -S small/h/run/holon.sock ] && [ -s small/h/run/control.token ]; do :; done
         until [ -s small/h/run/daemon.json ]; do :; done
         holon run hi --agent main; echo after $?",
        prelude(&model)
    );
    let Some(output) = on_disk(&world, "size=20m,nr_inodes=100", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    let expected = "Hello there.\nholon.lock\nHello there.\nafter 0\n";
    assert_eq!(said, expected, "{errors}");
}

#[test]
fn with_hardly_a_file_left_no_command_that_ran_is_called_not_started() {
    let world = world();
    let model = doer(&world, "echo ran >> ../../../../ran");
    let script = format!(
        "{}
         serve first & host=$!
         up first
         holon run hi --agent main > /dev/null; rm ran
         crowd
         for free in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
             holon run hi --agent main > told
             if [ -e ran ]; then echo ran; else echo idle; fi
             rm -f ran
             if grep -q 'exit 0' told; then echo told it ran; fi
             if grep -q 'nothing was run' told; then echo told it did not; fi
             n=$((n - 1)); rm small/many/$n
         done",
        prelude(&model)
    );
    let Some(output) = on_disk(&world, "size=20m,nr_inodes=120", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    assert!(
        said.starts_with("idle\ntold it did not\n"),
        "{said}{errors}"
    );
    assert!(!said.contains("ran\ntold it did not"), "{said}{errors}");
    assert!(!said.contains("idle\ntold it ran"), "{said}{errors}");
}
