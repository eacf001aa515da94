//! Tests of commands that try to do harm.

use super::namespace::inside;
use super::place::{Place, TEST_TIMEOUT, begin, end_of, finish, wait_for_bytes, wait_for_output};
use crate::support::Witness;
use holon_domain::command::{CommandEnd, UnknownCause};
use holon_process::{Error, ShimSpec, ShimmedState, Stream, attach, kept_output};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A script that starts itself twice, once in a new session, for this many generations, and ignores SIGTERM.
const BOMB: &str = "#!/bin/sh
trap '' TERM HUP
printf .
if [ $1 -gt 0 ]; then setsid \"$0\" $(($1 - 1)) & \"$0\" $(($1 - 1)) & fi
wait
exec sleep 3600
";

fn bomb(place: &Place, generations: u32) -> (Witness, ShimSpec) {
    let script = place.path().join("bomb");
    std::fs::write(&script, BOMB).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let witness = Witness::new();
    let cmd = format!("exec ./bomb {generations} 3> {}", witness.path());
    let spec = place.spec(&cmd);
    (witness, spec)
}

#[tokio::test]
async fn a_stop_kills_every_process_of_a_large_tree() {
    let place = Place::new();
    let (witness, spec) = bomb(&place, 6);
    let task = begin(spec).await;
    wait_for_bytes(&task, 126).await;
    let ended = task.stop(Duration::ZERO).await.unwrap();
    assert_eq!((ended.leftovers, ended.survivors), (126, 0));
    witness.all_dead().await;
}

#[tokio::test]
async fn a_stop_outruns_a_tree_that_still_grows() {
    let place = Place::new();
    let (witness, spec) = bomb(&place, 8);
    let task = begin(spec).await;
    wait_for_bytes(&task, 0).await;
    let ended = task.stop(Duration::ZERO).await.unwrap();
    assert_eq!(ended.survivors, 0);
    witness.all_dead().await;
}

#[tokio::test]
async fn a_command_that_kills_its_group_ends_alone() {
    for cmd in ["kill -9 0", "kill -9 -$$", "sleep 3600 & kill -9 0"] {
        let place = Place::new();
        let ended = finish(place.spec(&format!("echo before; {cmd}; echo after"))).await;
        assert_eq!(ended.end, CommandEnd::Signalled { signal: 9 }, "{cmd}");
        assert_eq!((place.out().as_str(), ended.survivors), ("before\n", 0));
    }
}

#[test]
fn a_command_that_kills_all_processes_is_lost_but_its_output_is_kept() {
    let name = "a_command_that_kills_all_processes_is_lost_but_its_output_is_kept";
    // All processes except the first one, which is this test.
    inside(module_path!(), name, async {
        let place = Place::new();
        let spec = ShimSpec {
            accepts_input: true,
            ..place.spec("echo before; read x; kill -9 -1; sleep 3600")
        };
        let out = spec.output_path.clone();
        let task = begin(spec).await;
        wait_for_output(&task, 0, "before").await;
        // The shim may die before it answers.
        task.input(1, b"\n").await.ok();
        assert_eq!(task.ended().await, Err(Error::Lost));
        let found = attach(place.locator()).await;
        assert!(
            matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
            "{found:?}"
        );
        let kept = kept_output(&out, None).output.preview(100).await.unwrap();
        assert_eq!(kept.head, "before\n");
    });
}

#[tokio::test]
async fn a_command_that_removes_its_own_records_still_ends_for_a_waiting_host() {
    let place = Place::new();
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec("read x; rm -r state out; echo gone; exit 4")
    };
    let task = begin(spec).await;
    let ShimmedState::Running(second) = attach(place.locator()).await else {
        panic!("it is alive");
    };
    // The wait has to start before the socket is removed.
    let (first, second, ()) = tokio::join!(task.ended(), second.ended(), async {
        task.input(1, b"\n").await.unwrap();
    });
    let ended = first.unwrap();
    assert_eq!(ended.end, CommandEnd::Exited { status: 4 });
    assert_eq!(second.as_ref(), Ok(&ended));
    let preview = ended.output.output.preview(100).await;
    assert!(
        matches!(preview, Err(Error::OutputMissing { .. })),
        "{preview:?}"
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_as_far_as_they_can_be() {
    for (bytes, text) in [
        ("a\\000b", "a\0b"),
        ("\\377\\376ok", "\u{fffd}\u{fffd}ok"),
        // The first half of a character, and a lone surrogate.
        ("ok\\303", "ok\u{fffd}"),
        ("\\355\\240\\200", "\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        let place = Place::new();
        let ended = finish(place.spec(&format!("printf '{bytes}'"))).await;
        let preview = ended.output.output.preview(100).await.unwrap();
        assert_eq!((preview.head.as_str(), preview.tail.as_str()), (text, ""));
    }
    let place = Place::new();
    let ended = finish(place.spec("head -c 300000 /dev/urandom")).await;
    let facts = &ended.output.output;
    for bytes in [0, 1, 2, 99, 1000] {
        let preview = facts.preview(bytes).await.unwrap();
        assert_eq!(preview.total_bytes, 300_000);
        assert!(preview.head.len() + preview.tail.len() <= 3 * bytes);
    }
    let slice = facts.slice(100_000, 50_000).await.unwrap();
    let file = std::fs::read(&facts.path).unwrap();
    assert_eq!(slice.bytes, file[100_000..150_000]);
}

#[tokio::test]
async fn a_terminal_that_is_not_read_accepts_a_bounded_amount() {
    for mode in ["stty -echo", "stty raw -echo"] {
        let place = Place::new();
        let task = begin(place.terminal(&format!("{mode}; echo up; exec sleep 3600"))).await;
        wait_for_output(&task, 0, "up").await;
        let lines = b"line\n".repeat(10_000);
        let mut number = 0;
        let full = loop {
            number += 1;
            match task.input(number, &lines).await {
                Ok(_) => assert!(number < 100, "it takes everything"),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::InputFull { pending } if pending > 900_000));
        let ended = task.stop(Duration::ZERO).await.unwrap();
        assert!(ended.stopped && ended.survivors == 0);
    }
}

#[tokio::test]
async fn idle_clients_on_the_socket_do_not_block_the_host() {
    let place = Place::new();
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec("read x; exit 2")
    };
    let task = begin(spec).await;
    let socket = place.claim_dir().join("shim.sock");
    let mut strangers: Vec<UnixStream> = Vec::new();
    for n in 0..300 {
        let mut stranger = UnixStream::connect(&socket).unwrap();
        match n % 3 {
            0 => {}
            1 => drop(stranger.write_all(b"{\"nonce\":\"a guess\",\"ask\":{\"kind\":\"wait\"}}\n")),
            _ => drop(stranger.write_all(&vec![b'{'; 70_000])),
        }
        strangers.push(stranger);
        // New clients are served between the idle ones.
        if n % 50 == 0 {
            task.output().await.unwrap();
        }
    }
    let accepted = tokio::time::timeout(TEST_TIMEOUT, task.input(1, b"\n")).await;
    accepted.expect("it answers").unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 2 });
    assert_eq!(strangers.len(), 300);
}

#[tokio::test]
async fn a_flood_of_escapes_on_a_terminal_is_previewed_within_its_bounds() {
    let place = Place::new();
    let cmd = "yes \"$(printf '\\033[2J\\033[999;999H\\033]0;x\\007\\033P')\" | head -c 2000000; printf END";
    let spec = ShimSpec {
        output_cap_bytes: 64 << 10,
        ..place.terminal(cmd)
    };
    let task = begin(spec).await;
    let ended = end_of(&task).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
    let facts = ended.output.stream(Stream::Output).unwrap();
    let preview = facts.preview(1000).await.unwrap();
    assert!(preview.head.len() + preview.tail.len() <= 1000);
    assert!(preview.tail.ends_with("END") && preview.head.starts_with("\u{1b}[2J"));
}
