//! Tests with scripts in place of the shim, which force rare sequences of events.

use super::ahead::{idle_shim, shim_of_one};
use super::place::{Place, TEST_TIMEOUT, end_of};
use holon_domain::command::{CommandEnd, CommandFailure, UnknownCause};
use holon_process::{Image, ShimmedState, Shims, attach, start};
use std::process::Command;

const SHIM: &str = env!("CARGO_BIN_EXE_holon-shim");

/// Creates a program from shell text. Its second argument says that it is a shim, its third whether it is an idle
/// one.
fn stand_in(place: &Place, text: &str) -> Image {
    let (program, script) = (place.path().join("program"), place.path().join("script"));
    std::fs::write(&script, text).unwrap();
    // Copied by another process, so that no child of this test holds it open for writing when it is executed. The
    // program file is closed when the shell would read it, so the text is in a separate file.
    let made = Command::new("sh")
        .args([
            "-c",
            "printf '#!/bin/sh %s\n' \"$2\" > \"$1\" && chmod +x \"$1\"",
        ])
        .args(["sh".as_ref(), program.as_os_str(), script.as_os_str()])
        .status();
    assert!(made.unwrap().success());
    Image::of(&program).unwrap()
}

#[tokio::test]
async fn a_shim_that_is_suspended_while_it_is_told_its_spec_is_woken() {
    let place = Place::new();
    // The script suspends itself after the first byte, and passes the rest on after it was woken.
    let dir = place.path().display();
    let image = stand_in(
        &place,
        &format!(
            "mkfifo {dir}/told
            first=$(dd bs=1 count=1 2> /dev/null)
            kill -STOP $$
            exec 3<&0
            {{ printf %s \"$first\"; cat <&3; }} > {dir}/told &
            exec {SHIM} \"$2\" < {dir}/told"
        ),
    );
    let mut spec = place.spec("printf %s \"$LONG\" | wc -c");
    // Longer than the capacity of a pipe.
    spec.env.push(("LONG".to_owned(), "x".repeat(100_000)));
    let started = tokio::time::timeout(TEST_TIMEOUT, start(&image, spec)).await;
    let task = started.expect("it starts").unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    assert_eq!(place.out().trim(), "100000");
}

#[tokio::test]
async fn a_shim_that_claims_its_task_and_dies_without_a_word_has_no_second_run_it() {
    let place = Place::new();
    let image = stand_in(
        &place,
        &format!(
            "test \"$3\" || exec {SHIM} \"$2\"
            read -r told
            echo claimed task_1 > {}/spec.lock",
            place.claim_dir().display()
        ),
    );
    let shims = Shims::new(image);
    shim_of_one(&shims).await;
    idle_shim().await;
    let refused = shims.start(place.spec("touch ran")).await;
    let Err(CommandFailure::Spawn { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("a task is started once"), "{reason}");
    assert!(!place.path().join("ran").exists());
    let found = attach(place.locator()).await;
    assert!(
        matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
        "{found:?}"
    );
}
