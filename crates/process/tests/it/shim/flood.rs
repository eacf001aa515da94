//! Tests of output without end, without lines, and of binary output.

use super::place::{Place, begin, end_of, finish, wait_for_bytes, wait_for_output};
use holon_domain::command::CommandEnd;
use holon_process::{ShimSpec, Stream};

const CAP: u64 = 64 << 10;

#[tokio::test]
async fn a_flood_is_drained_to_its_end_and_kept_up_to_the_cap() {
    for (source, letter) in [("yes", b'y'), ("cat /dev/zero", 0)] {
        let place = Place::new();
        let spec = ShimSpec {
            output_cap_bytes: CAP,
            ..place.spec(&format!("{source} | head -c 50000000; printf END"))
        };
        let ended = finish(spec).await;
        assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
        let facts = &ended.output.output;
        assert_eq!(facts.total_bytes, 50_000_003);
        assert_eq!(facts.head_bytes + facts.tail_bytes, CAP);
        let kept = std::fs::read(place.path().join("out")).unwrap();
        assert!(kept.len() as u64 <= CAP + 200, "{}", kept.len());
        assert!(kept[0] == letter && kept.ends_with(b"END"));
        let marker = format!("{} bytes are missing here", facts.dropped_bytes());
        assert!(String::from_utf8_lossy(&kept).contains(&marker));
    }
}

#[tokio::test]
async fn offsets_mean_the_same_bytes_before_and_after_the_end() {
    let place = Place::new();
    // Numbered lines of ten bytes each, so that every byte shows its own offset.
    let cmd = "i=0; while [ $i -lt 20000 ]; do printf '%09d\\n' $i; i=$((i+1)); done; echo READY; read x; printf END";
    let spec = ShimSpec {
        output_cap_bytes: CAP,
        accepts_input: true,
        ..place.spec(cmd)
    };
    let task = begin(spec).await;
    wait_for_output(&task, 199_990, "READY").await;
    let offsets = [0, 12_340, 199_000];
    let mut before = Vec::new();
    for offset in offsets {
        let slice = task.slice(Stream::Output, offset, 20).await.unwrap();
        assert_eq!(slice.at, offset);
        assert!(
            slice
                .bytes
                .starts_with(format!("{:09}\n", offset / 10).as_bytes())
        );
        before.push(slice.bytes);
    }
    let dropped = task.slice(Stream::Output, 100_000, 20).await.unwrap();
    assert!(
        dropped.at > 100_000,
        "the middle is gone, and the answer says so"
    );
    let live = task.preview(Stream::Output, 40).await.unwrap();
    assert!(live.head.starts_with("000000000\n") && live.tail.ends_with("READY\n"));
    task.input(1, b"\n").await.unwrap();
    let ended = end_of(&task).await;
    for (offset, bytes) in offsets.into_iter().zip(before) {
        let slice = ended.output.output.slice(offset, 20).await.unwrap();
        assert_eq!((slice.at, slice.bytes), (offset, bytes));
    }
    let preview = ended.output.output.preview(40).await.unwrap();
    assert!(preview.head.starts_with("000000000\n") && preview.tail.ends_with("READY\nEND"));
    assert_eq!(preview.total_bytes, 200_009);
}

/// Peak memory of the shim whose pid its command has printed.
fn peak_kb(place: &Place) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", place.err().trim())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().split_whitespace().next().unwrap();
    peak.parse().unwrap()
}

#[tokio::test]
async fn a_line_of_a_gigabyte_costs_bounded_memory_and_disk() {
    let place = Place::new();
    let cmd = "echo $PPID >&2; head -c 1073741824 /dev/zero; printf END; read x";
    let spec = ShimSpec {
        output_cap_bytes: CAP,
        accepts_input: true,
        ..place.spec(cmd)
    };
    let task = begin(spec).await;
    wait_for_bytes(&task, 1_073_741_826).await;
    assert!(peak_kb(&place) < 32 << 10);
    let live = task.preview(Stream::Output, 100).await.unwrap();
    assert_eq!(live.total_bytes, 1_073_741_827);
    assert!(live.head.len() == 50 && live.tail.ends_with("\0END"));
    task.input(1, b"\n").await.unwrap();
    let ended = end_of(&task).await;
    assert_eq!(ended.output.output.total_bytes, 1_073_741_827);
    let kept = std::fs::metadata(place.path().join("out")).unwrap().len();
    assert!(kept <= CAP + 200, "{kept}");
}

#[tokio::test]
async fn a_flood_can_be_stopped_and_costs_bounded_memory() {
    let place = Place::new();
    let spec = ShimSpec {
        output_cap_bytes: CAP,
        ..place.spec("echo $PPID >&2; exec yes")
    };
    let task = begin(spec).await;
    wait_for_bytes(&task, 200_000_000).await;
    assert!(peak_kb(&place) < 32 << 10);
    let ended = task.stop(std::time::Duration::ZERO).await.unwrap();
    assert!(ended.stopped && ended.survivors == 0);
}

#[tokio::test]
async fn output_written_just_before_the_end_is_not_lost() {
    for _ in 0..10 {
        let place = Place::new();
        let ended = finish(place.spec("head -c 60000 /dev/zero | tr '\\0' x")).await;
        assert_eq!(ended.output.output.total_bytes, 60_000);
    }
}
