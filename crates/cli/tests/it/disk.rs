//! A full disk: a small file system of its own, mounted where only this test's commands see it.

use crate::support::{doer, hello, world};
use holon_testkit::World;
use std::process::{Command, Output};

/// Runs a shell script with a small file system on `small`. Needs no root where user namespaces are allowed; when the
/// script ends, everything it started ends with it.
fn on_small_disk(world: &World, script: &str) -> Option<Output> {
    std::fs::create_dir(world.path().join("small")).unwrap();
    let run = |script: &str| {
        let mount = "mount -t tmpfs -o size=2m,mode=700 tmpfs small";
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
    if !run("true").is_some_and(|probe| probe.status.success()) {
        eprintln!(
            "not checked here: no private mounts on this system, so there is no small disk to fill"
        );
        return None;
    }
    run(script)
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
fn a_host_started_on_a_full_disk_says_so_at_once_and_comes_up_when_there_is_space() {
    let world = world();
    let model = doer(
        &world,
        "echo ran >> ../../../../ran; until [ -e ../../../../go ]; do :; done",
    );
    let script = format!(
        "holon() {{ {} \"$@\" --home small/h; }}
         serve() {{ {} serve --home small/h --port 0 --model {model} > $1 2> log; }}
         serve first & host=$!
         until grep -q logs: first; do :; done
         holon prompt hi > /dev/null
         until [ -s ran ]; do :; done
         kill -9 $(cat small/h/run/daemon.json | sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p'); wait $host
         cat /dev/zero > small/filler 2> /dev/null
         serve second & host=$!
         until grep -q 'not up' log; do kill -0 $host || {{ cat log; exit 8; }}; done
         holon status; echo status $?
         rm small/filler; touch go
         until grep -q logs: second; do :; done
         holon status > /dev/null; echo after $?",
        env!("CARGO_BIN_EXE_holon"),
        env!("CARGO_BIN_EXE_holon")
    );
    let Some(output) = on_small_disk(&world, &script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "status 1\nafter 0\n", "{errors}");
    assert!(
        errors.contains(
            "error: the host is not up yet, because the disk is full\nnext: free some space"
        ),
        "{errors}"
    );
}
