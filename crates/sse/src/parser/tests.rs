//! The grammar by example, at every chunk boundary and with every line end.

use super::*;

const LIMIT: usize = 1 << 10;

fn parse(chunks: &[&[u8]]) -> Vec<Frame> {
    let mut parser = Parser::new(LIMIT);
    let mut frames = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut frames).unwrap();
    }
    frames
}

fn data(text: &str) -> Frame {
    Frame {
        data: Some(text.to_owned()),
        ..Frame::default()
    }
}

fn event(name: &str, text: &str) -> Frame {
    Frame {
        event: Some(name.to_owned()),
        ..data(text)
    }
}

fn position(id: &str) -> Frame {
    Frame {
        id: Some(id.to_owned()),
        ..Frame::default()
    }
}

const SAMPLE: &str = "\u{feff}retry: 1000\nid: 4\n\n: keep-alive\n\n\
                      event: response.created\nid: 5\nretry: 10\ndata: {\"é\":\"漢🦀\"}\n\n\
                      event: from_tomorrow\nodd: field\nbare\ndata: a\ndata:  b\ndata\n\n\
                      event: no-data\n\n: data: no\ndata: last\nid: 9\n\n";

fn expected() -> Vec<Frame> {
    vec![
        Frame {
            retry_ms: Some(1_000),
            ..position("4")
        },
        Frame {
            id: Some("5".to_owned()),
            retry_ms: Some(10),
            ..event("response.created", "{\"é\":\"漢🦀\"}")
        },
        event("from_tomorrow", "a\n b\n"),
        Frame {
            event: Some("no-data".to_owned()),
            ..Frame::default()
        },
        Frame {
            id: Some("9".to_owned()),
            ..data("last")
        },
    ]
}

#[test]
fn every_split_in_three_gives_the_same_frames() {
    let bytes = SAMPLE.as_bytes();
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let chunks = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(parse(&chunks), expected(), "split at {first} and {second}");
        }
    }
}

#[test]
fn all_three_line_ends_mean_the_same_at_every_split_and_byte_by_byte() {
    for end in ["\n", "\r\n", "\r"] {
        let text = SAMPLE.replace('\n', end);
        for at in 0..=text.len() {
            let (before, after) = text.as_bytes().split_at(at);
            let frames = parse(&[before, b"", after]);
            assert_eq!(frames, expected(), "{end:?} split at {at}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(parse(&bytes), expected(), "{end:?} byte by byte");
    }
}

#[test]
fn a_frame_that_the_stream_ends_in_is_not_given() {
    assert_eq!(parse(&[b"id: 1\ndata: x\n"]), []);
    assert_eq!(parse(&[b"data: x"]), []);
}

#[test]
fn an_id_without_data_is_a_position_and_comments_are_nothing() {
    assert_eq!(parse(&[b"id: 42\n\n"]), [position("42")]);
    assert_eq!(parse(&[b": heartbeat\n\n"]), []);
}

#[test]
fn a_name_without_data_does_not_name_the_next_event() {
    let frames = parse(&[b"event: a\n\ndata: b\n\n"]);
    assert_eq!(frames.last(), Some(&data("b")));
}

#[test]
fn a_byte_order_mark_is_skipped_only_at_the_start() {
    let text = "\u{feff}data: a\n\n\u{feff}data: b\n\n";
    assert_eq!(parse(&[text.as_bytes()]), [data("a")]);
}

#[test]
fn an_empty_data_line_is_data() {
    assert_eq!(parse(&[b"data\n\n"]), [data("")]);
    assert_eq!(parse(&[b"data:\ndata:\n\n"]), [data("\n")]);
}

#[test]
fn an_empty_name_is_no_name_and_the_last_one_counts() {
    assert_eq!(parse(&[b"event: a\nevent:\ndata: x\n\n"]), [data("x")]);
    assert_eq!(
        parse(&[b"event: a\nevent: b\ndata: x\n\n"]),
        [event("b", "x")]
    );
}

#[test]
fn values_the_format_does_not_allow_are_skipped() {
    for odd in ["id: 1\0", "retry: +5", "retry: -5", "retry: soon", "retry"] {
        let text = format!("{odd}\n\n");
        assert_eq!(parse(&[text.as_bytes()]), [], "{odd:?}");
    }
}

#[test]
fn a_frame_over_the_limit_is_refused_in_one_line_or_in_many_of_any_field() {
    let refusal = Err(Error::FrameTooLarge { limit: LIMIT });
    let mut frames = Vec::new();
    let long = vec![b'x'; LIMIT + 1];
    assert_eq!(Parser::new(LIMIT).push(&long, &mut frames), refusal);

    let lines = format!("data: {}\n", "y".repeat(100)).repeat(20);
    assert_eq!(
        Parser::new(LIMIT).push(lines.as_bytes(), &mut frames),
        refusal
    );

    let half = "z".repeat(LIMIT / 2);
    let fields = format!("id: {half}\nevent: {half}\n");
    assert_eq!(
        Parser::new(LIMIT).push(fields.as_bytes(), &mut frames),
        refusal
    );
    assert_eq!(frames, []);
}

#[test]
fn a_line_of_exactly_the_limit_fits() {
    let mut frames = Vec::new();
    let line = format!("data: {}\n\n", "x".repeat(LIMIT - "data: ".len()));
    assert_eq!(
        Parser::new(LIMIT).push(line.as_bytes(), &mut frames),
        Ok(())
    );
    assert_eq!(frames.len(), 1);
}

#[test]
fn a_stream_of_any_length_fits_while_its_frames_do() {
    let mut parser = Parser::new(LIMIT);
    let mut frames = Vec::new();
    let line = format!("data: {}\n\n", "y".repeat(1_000));
    for _ in 0..100 {
        parser.push(line.as_bytes(), &mut frames).unwrap();
    }
    assert_eq!(frames.len(), 100);
}

#[test]
fn bytes_that_are_not_utf8_are_refused_after_the_frames_before_them() {
    let mut frames = Vec::new();
    let refused = Parser::new(LIMIT).push(b"data: a\n\ndata: \xff\n\n", &mut frames);
    assert_eq!(refused, Err(Error::NotUtf8));
    assert_eq!(frames, [data("a")]);
}
