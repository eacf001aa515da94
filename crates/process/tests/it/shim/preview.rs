//! Previews of commands that go on printing.

use super::place::{Place, begin, until_written};
use holon_process::{ShimSpec, Stream};

const CAP: u64 = 64 << 10;
/// Bytes of a numbered line, so that every byte says where it belongs.
const LINE: u64 = 10;

/// What stands at an offset of a stream of numbered lines.
fn numbered(from: u64, to: u64) -> String {
    let lines = (from / LINE)..=(to / LINE);
    let text: String = lines.map(|line| format!("{line:09}\n")).collect();
    let skip = usize::try_from(from % LINE).unwrap();
    text.chars()
        .skip(skip)
        .take(usize::try_from(to - from).unwrap())
        .collect()
}

#[tokio::test]
async fn a_preview_of_a_flood_ends_where_reading_on_begins() {
    let place = Place::new();
    let spec = ShimSpec {
        output_cap_bytes: CAP,
        ..place.spec("exec seq -f %09.0f 0 99999999")
    };
    let task = begin(spec).await;
    until_written(&task, 4 * CAP).await;
    for _ in 0..200 {
        let seen = task.preview(Stream::Output, 400).await.unwrap();
        let (head, tail) = (seen.head.len() as u64, seen.tail.len() as u64);
        assert_eq!(seen.head, numbered(0, head));
        let next = seen.next_offset();
        assert_eq!(seen.tail, numbered(next - tail, next));
        assert_eq!(head + seen.dropped_bytes + tail, next);
    }
    task.stop(std::time::Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_character_that_is_half_printed_is_left_for_whoever_reads_on() {
    let place = Place::new();
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec("printf 'a\\303'; read x; printf '\\251z'; read x")
    };
    let task = begin(spec).await;
    until_written(&task, 1).await;
    let seen = task.preview(Stream::Output, 100).await.unwrap();
    assert_eq!((seen.head.as_str(), seen.next_offset()), ("a", 1));
    assert_eq!((seen.total_bytes, seen.unread_bytes), (2, 1));
    task.input(1, b"\n").await.unwrap();
    until_written(&task, 3).await;
    let seen = task.preview(Stream::Output, 100).await.unwrap();
    assert_eq!((seen.head.as_str(), seen.next_offset()), ("aéz", 4));
    task.stop(std::time::Duration::ZERO).await.unwrap();
}
