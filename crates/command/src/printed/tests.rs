//! Reads parts of streams from files. Streams that a shim holds are read in the integration tests.

use super::*;
use holon_domain::TaskId;
use holon_process::kept_output;
use std::path::PathBuf;

/// A stream that is kept in a temporary file.
struct StreamFile {
    dir: tempfile::TempDir,
}

impl StreamFile {
    fn new(content: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("out"), content).unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn source(&self) -> Source {
        Source::Kept(kept_output(&self.path(), None))
    }

    /// Describes the file as a head of `head` bytes, a gap of `missing` bytes, a gap line of `line` bytes, and the
    /// tail.
    fn with_hole(&self, head: u64, missing: u64, line: u64) -> Source {
        let bytes = std::fs::metadata(self.path()).unwrap().len();
        let tail = bytes - head - line;
        Source::Kept(OutputRecord {
            output: StreamRecord {
                path: self.path(),
                total_bytes: head + missing + tail,
                head_bytes: head,
                tail_bytes: tail,
                tail_at: Some(head + line),
                error: None,
                missing: false,
            },
            errors: None,
        })
    }
}

fn query() -> TaskOutput {
    TaskOutput {
        task_id: TaskId::from_stored("task_1"),
        wait_ms: None,
        after_byte: None,
        stderr_after_byte: None,
        tail_lines: None,
        max_output_tokens: None,
    }
}

fn after(offset: u64) -> TaskOutput {
    TaskOutput {
        after_byte: Some(offset),
        ..query()
    }
}

fn lines(lines: u32) -> TaskOutput {
    TaskOutput {
        tail_lines: Some(lines),
        ..query()
    }
}

async fn part(source: &Source, query: &TaskOutput, max: usize) -> (String, u64, u64) {
    let part = source.printed(query, max).await.unwrap().output;
    assert_eq!((part.tail.as_str(), part.left_out), ("", 0), "one piece");
    (part.head, part.at, part.next_offset)
}

/// Returns both ends and the number of bytes between them.
async fn both(source: &Source, max: usize) -> (String, u64, String) {
    let part = source.printed(&query(), max).await.unwrap().output;
    assert_eq!((part.at, part.next_offset), (0, part.total_bytes));
    (part.head, part.left_out, part.tail)
}

fn is(text: &str, at: u64, next: u64) -> (String, u64, u64) {
    (text.to_owned(), at, next)
}

#[tokio::test]
async fn a_short_stream_is_shown_whole() {
    let kept = StreamFile::new(b"one\ntwo\n");
    let printed = kept.source().printed(&query(), 8).await.unwrap();
    assert_eq!(printed.stderr, None);
    let expected = StreamPart {
        head: "one\ntwo\n".to_owned(),
        next_offset: 8,
        total_bytes: 8,
        path: Some(kept.path().to_str().unwrap().to_owned()),
        ..StreamPart::default()
    };
    assert_eq!(printed.output, expected);
}

#[tokio::test]
async fn following_a_stream_costs_only_what_is_new() {
    let kept = StreamFile::new(b"0123456789");
    let source = kept.source();
    assert_eq!(part(&source, &after(4), 4).await, is("4567", 4, 8));
    assert_eq!(part(&source, &after(8), 4).await, is("89", 8, 10));
    assert_eq!(part(&source, &after(10), 4).await, is("", 10, 10));
}

#[tokio::test]
async fn a_part_ends_before_a_character_that_does_not_fit() {
    let kept = StreamFile::new("aé漢🦀".as_bytes());
    let source = kept.source();
    let (mut text_so_far, mut offset) = (String::new(), 0);
    while offset < 10 {
        let (text, at, next) = part(&source, &after(offset), 4).await;
        assert!(at == offset && next > offset, "{at} {next}");
        text_so_far += &text;
        offset = next;
    }
    assert_eq!(text_so_far, "aé漢🦀");
}

#[tokio::test]
async fn of_a_long_stream_both_ends_are_read_and_what_lies_between_is_counted() {
    let kept = StreamFile::new("漢".repeat(1_000).as_bytes());
    let end = "漢".repeat(16);
    assert_eq!(
        both(&kept.source(), 100).await,
        (end.clone(), 3_000 - 96, end)
    );
}

#[tokio::test]
async fn ends_that_meet_are_not_read_twice() {
    // The beginning was not kept, and only little of the end.
    let kept = StreamFile::new(b"0123456789");
    let source = kept.with_hole(0, 990, 0);
    let part = source.printed(&query(), 16).await.unwrap().output;
    assert_eq!(
        (part.head.as_str(), part.left_out, part.tail.as_str()),
        ("01234567", 0, "89")
    );
    assert_eq!((part.at, part.next_offset), (990, 1_000));
    assert_eq!(part.lacks.bytes, 990);
}

#[tokio::test]
async fn the_last_lines_are_those_at_the_end() {
    let text: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
    let kept = StreamFile::new(text.as_bytes());
    let (source, total) = (kept.source(), text.len() as u64);
    let expected = "line 9998\nline 9999\n";
    let at = total - expected.len() as u64;
    assert_eq!(
        part(&source, &lines(2), 1_000).await,
        is(expected, at, total)
    );
    // Only of the new bytes, and only as far as they fit.
    let new = TaskOutput {
        after_byte: Some(total - 4),
        ..lines(2)
    };
    assert_eq!(
        part(&source, &new, 1_000).await,
        is("999\n", total - 4, total)
    );
    assert_eq!(
        part(&source, &lines(9), 5).await,
        is("9999\n", total - 5, total)
    );
}

#[tokio::test]
async fn the_last_lines_begin_with_a_whole_character() {
    let kept = StreamFile::new("漢字".as_bytes());
    assert_eq!(part(&kept.source(), &lines(1), 4).await, is("字", 3, 6));
}

#[tokio::test]
async fn what_was_not_kept_is_skipped_and_the_offset_says_so() {
    let kept = StreamFile::new(b"head--tail");
    let source = kept.with_hole(4, 100, 2);
    assert_eq!(part(&source, &after(2), 100).await, is("ad", 2, 4));
    assert_eq!(part(&source, &after(4), 100).await, is("tail", 104, 108));
    assert_eq!(part(&source, &lines(1), 106).await, is("tail", 104, 108));
    assert_eq!(
        both(&source, 60).await,
        ("head".to_owned(), 100, "tail".to_owned())
    );
}

#[tokio::test]
async fn a_character_whose_end_was_not_kept_is_not_waited_for() {
    let kept = StreamFile::new(b"a\xe6\xbc--z");
    let source = kept.with_hole(3, 10, 2);
    assert_eq!(part(&source, &after(0), 100).await, is("a\u{fffd}", 0, 3));
    assert_eq!(part(&source, &after(3), 100).await, is("z", 13, 14));
}

#[tokio::test]
async fn both_streams_have_an_offset_of_their_own() {
    let kept = StreamFile::new(b"output");
    let errors = kept.dir.path().join("err");
    std::fs::write(&errors, "errors").unwrap();
    let source = Source::Kept(kept_output(&kept.path(), Some(&errors)));
    let query = TaskOutput {
        stderr_after_byte: Some(5),
        ..after(3)
    };
    let printed = source.printed(&query, 100).await.unwrap();
    assert_eq!(printed.output.head, "put");
    assert_eq!(printed.stderr.unwrap().head, "s");
}

#[tokio::test]
async fn of_a_stream_that_was_not_asked_for_only_the_size_is_told() {
    let kept = StreamFile::new(b"output");
    let errors = kept.dir.path().join("err");
    std::fs::write(&errors, "errors").unwrap();
    let source = Source::Kept(kept_output(&kept.path(), Some(&errors)));
    let printed = source.printed(&after(3), 100).await.unwrap();
    let stderr = printed.stderr.unwrap();
    assert_eq!(
        (printed.output.head.as_str(), stderr.head.as_str()),
        ("put", "")
    );
    assert_eq!(
        (stderr.at, stderr.next_offset, stderr.total_bytes),
        (6, 6, 6)
    );
    let complaints = TaskOutput {
        stderr_after_byte: Some(4),
        ..query()
    };
    let printed = source.printed(&complaints, 100).await.unwrap();
    assert_eq!(printed.stderr.unwrap().head, "rs");
    assert_eq!(
        (printed.output.head.as_str(), printed.output.next_offset),
        ("", 6)
    );
}

/// Creates the two files of a command; `None` leaves a file out.
fn two_files(dir: &tempfile::TempDir, output: Option<&str>, errors: Option<&str>) -> Source {
    let path = |name: &str, content: Option<&str>| {
        let path = dir.path().join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        path
    };
    let (output, errors) = (path("out", output), path("err", errors));
    Source::Kept(kept_output(&output, Some(&errors)))
}

#[tokio::test]
async fn a_file_that_is_gone_is_told_as_missing_beside_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let source = two_files(&dir, None, Some("bad\n"));
    let printed = source.printed(&query(), 100).await.unwrap();
    assert!(printed.output.lacks.missing, "{printed:?}");
    let stderr = printed.stderr.unwrap();
    assert_eq!(
        (stderr.head.as_str(), stderr.lacks.missing),
        ("bad\n", false)
    );

    let dir = tempfile::tempdir().unwrap();
    let source = two_files(&dir, Some("good\n"), None);
    let printed = source.printed(&query(), 100).await.unwrap();
    assert_eq!(printed.output.head, "good\n");
    assert!(printed.stderr.unwrap().lacks.missing);
}

#[tokio::test]
async fn where_only_missing_files_are_asked_for_that_is_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    for (errors, query) in [(None, query()), (Some("bad\n"), after(0))] {
        let missing = two_files(&dir, None, errors).printed(&query, 100).await;
        assert!(
            matches!(missing, Err(Error::OutputMissing { .. })),
            "{missing:?}"
        );
    }
}

#[tokio::test]
async fn a_file_that_is_removed_after_it_was_found_is_told_as_missing() {
    let kept = StreamFile::new(b"0123456789");
    let source = kept.source();
    std::fs::remove_file(kept.path()).unwrap();
    let missing = source.printed(&query(), 100).await;
    assert!(
        matches!(missing, Err(Error::OutputMissing { .. })),
        "{missing:?}"
    );
}
