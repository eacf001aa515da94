//! Tests of previews of commands that keep printing.

use super::place::{Place, begin, wait_for_bytes};
use holon_process::{ShimSpec, Stream};

const CAP: u64 = 64 << 10;
/// Bytes of a numbered line, so that every byte shows its own offset.
const LINE: u64 = 10;

/// Returns a range of a stream of numbered lines.
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
    wait_for_bytes(&task, 4 * CAP).await;
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
async fn an_incomplete_character_is_left_for_the_next_read() {
    let place = Place::new();
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec("printf 'a\\303'; read x; printf '\\251z'; read x")
    };
    let task = begin(spec).await;
    wait_for_bytes(&task, 1).await;
    let seen = task.preview(Stream::Output, 100).await.unwrap();
    assert_eq!((seen.head.as_str(), seen.next_offset()), ("a", 1));
    assert_eq!((seen.total_bytes, seen.unread_bytes), (2, 1));
    task.input(1, b"\n").await.unwrap();
    wait_for_bytes(&task, 3).await;
    let seen = task.preview(Stream::Output, 100).await.unwrap();
    assert_eq!((seen.head.as_str(), seen.next_offset()), ("aéz", 4));
    task.stop(std::time::Duration::ZERO).await.unwrap();
}
