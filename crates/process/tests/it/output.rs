//! Tests of the output that is kept of a command.

use crate::support::{output, spec};
use holon_domain::command::CommandEnd;
use holon_process::CommandSpec;

#[tokio::test]
async fn both_streams_are_kept_apart() {
    let ran = output(spec("echo out; echo err >&2; printf more")).await;
    assert_eq!(
        (ran.stdout.head.as_str(), ran.stderr.head.as_str()),
        ("out\nmore", "err\n")
    );
    assert_eq!((ran.stdout.total_bytes, ran.stdout.dropped_bytes), (8, 0));
}

#[tokio::test]
async fn a_flood_is_drained_to_its_end_within_the_capture() {
    let cmd = "yes | head -c 50000000; printf END";
    let ran = output(CommandSpec {
        capture_bytes: 4_096,
        ..spec(cmd)
    })
    .await;
    assert_eq!(ran.end, CommandEnd::Exited { status: 0 });
    assert_eq!(ran.stdout.total_bytes, 50_000_003);
    assert!(ran.stdout.head.starts_with("y\ny\n") && ran.stdout.tail.ends_with("y\nEND"));
    assert_eq!(ran.stdout.head.len() + ran.stdout.tail.len(), 4_096);
    assert_eq!(ran.stdout.dropped_bytes, 50_000_003 - 4_096);
}

#[tokio::test]
async fn a_flood_on_one_stream_does_not_block_the_other() {
    let ran = output(spec("yes | head -c 1000000 >&2; echo done")).await;
    assert_eq!(
        (ran.stdout.head.as_str(), ran.stderr.total_bytes),
        ("done\n", 1_000_000)
    );
}

#[tokio::test]
async fn one_line_of_a_megabyte_keeps_its_ends() {
    let cmd = "printf A; head -c 1000000 /dev/zero | tr '\\0' x; printf Z";
    let ran = output(CommandSpec {
        capture_bytes: 1_000,
        ..spec(cmd)
    })
    .await;
    assert_eq!(ran.stdout.total_bytes, 1_000_002);
    assert!(ran.stdout.head.starts_with("Ax") && ran.stdout.tail.ends_with("xZ"));
    assert_eq!(ran.stdout.head.len() + ran.stdout.tail.len(), 1_000);
}

#[tokio::test]
async fn binary_output_becomes_text_and_keeps_its_count() {
    let ran = output(spec(r"printf 'a\000\377\376b'")).await;
    assert_eq!(
        (ran.stdout.head.as_str(), ran.stdout.total_bytes),
        ("a\0\u{fffd}\u{fffd}b", 5)
    );
}

#[tokio::test]
async fn standard_input_is_at_its_end_from_the_start() {
    let ran = output(spec("cat; echo over")).await;
    assert_eq!(ran.stdout.head, "over\n");
}

#[tokio::test]
async fn output_written_just_before_the_end_is_not_lost() {
    for _ in 0..20 {
        let ran = output(spec("head -c 60000 /dev/zero | tr '\\0' x")).await;
        assert_eq!(ran.stdout.total_bytes, 60_000);
    }
}
