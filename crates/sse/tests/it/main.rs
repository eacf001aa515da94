//! Properties of the parser and the writer together: chunk boundaries do not matter, and frames come back as written.

use holon_sse::{Error, Frame, Parser, write_comment};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Small enough that generated streams run into it.
const TIGHT: usize = 48;
/// Larger than any generated frame.
const WIDE: usize = 1 << 16;

fn parse<'a>(
    limit: usize,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Frame>, Result<(), Error>) {
    let mut parser = Parser::new(limit);
    let mut frames = Vec::new();
    for chunk in chunks {
        if let Err(error) = parser.push(chunk, &mut frames) {
            return (frames, Err(error));
        }
    }
    (frames, Ok(()))
}

/// Cuts the bytes at these places, taken modulo the length.
fn cut(bytes: &[u8], places: &[usize]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = places.iter().map(|at| at % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let ends = places.iter().zip(places.iter().skip(1));
    ends.map(|(from, to)| bytes[*from..*to].to_vec()).collect()
}

/// Bytes that look enough like a stream to reach every part of the grammar.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        3 => prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("\n\n")]
            .prop_map(|end| end.as_bytes().to_vec()),
        3 => prop_oneof![
            Just("data"), Just("data:"), Just("data: "), Just("id: "), Just("event: "),
            Just("retry: 12"), Just(": "), Just("\u{feff}"),
        ].prop_map(|field| field.as_bytes().to_vec()),
        2 => "\\PC{0,12}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// Frames that any reader can be told: no line ends where the format has no place for them, and at least one field.
fn frame() -> impl Strategy<Value = Frame> {
    let fields = (
        option::of("[^\r\n\0]{0,8}"),
        option::of("[^\r\n]{1,8}"),
        option::of("[^\r]{0,16}"),
        option::of(any::<u64>()),
    );
    fields
        .prop_map(|(id, event, data, retry_ms)| Frame {
            id,
            event,
            data,
            retry_ms,
        })
        .prop_filter("a frame has a field", |frame| *frame != Frame::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn chunk_boundaries_change_neither_frames_nor_errors(
        bytes in stream(),
        places in vec(any::<usize>(), 0..12),
        limit in prop_oneof![Just(TIGHT), Just(WIDE)],
    ) {
        let whole = parse(limit, [bytes.as_slice()]);
        let chunks = cut(&bytes, &places);
        prop_assert_eq!(&parse(limit, chunks.iter().map(Vec::as_slice)), &whole);
        prop_assert_eq!(&parse(limit, bytes.chunks(1)), &whole);
    }

    #[test]
    fn frames_come_back_as_they_were_written(
        frames in vec(frame(), 0..6),
        comment in "\\PC{0,12}",
        places in vec(any::<usize>(), 0..6),
    ) {
        let mut bytes = Vec::new();
        for frame in &frames {
            frame.write(&mut bytes);
            write_comment(&mut bytes, &comment);
        }
        let chunks = cut(&bytes, &places);
        let (read, ended) = parse(WIDE, chunks.iter().map(Vec::as_slice));
        prop_assert_eq!(ended, Ok(()));
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn whatever_text_a_frame_holds_it_is_read_as_one_frame(
        id in option::of(any::<String>()),
        event in option::of(any::<String>()),
        data in any::<String>(),
    ) {
        let frame = Frame { id, event, data: Some(data.clone()), retry_ms: None };
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        let (read, ended) = parse(WIDE, [bytes.as_slice()]);
        prop_assert_eq!(ended, Ok(()));
        prop_assert_eq!(read.len(), 1);
        let lines = data.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(read[0].data.as_ref(), Some(&lines));
        prop_assert_eq!(read[0].id.is_some(), frame.id.is_some());
    }
}
