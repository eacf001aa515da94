//! Changes a good answer into a faulty one, in any protocol: the pieces of its body and their order.

use super::answer::{Answer, Framing, Piece};
use super::packing;

/// The first half of a stream and then a failure; only the failure if the answer is one document.
pub(super) fn broken_off(answer: Answer, failure: Answer) -> Answer {
    match answer.framing {
        Framing::Length(_) => failure,
        Framing::Chunked => {
            let half = answer.pieces.len() / 2;
            let begun = answer.pieces.iter().take(half).cloned();
            let pieces = begun.chain(failure.pieces).collect();
            answer.with_pieces(pieces)
        }
    }
}

/// Adds the body of another answer.
pub(super) fn followed_by(answer: Answer, another: Answer) -> Answer {
    let pieces = [answer.pieces.clone(), another.pieces].concat();
    answer.with_pieces(pieces)
}

/// Reverses the pieces between the first and the last.
pub(super) fn reversed(mut answer: Answer) -> Answer {
    if let [_, between @ .., _] = answer.pieces.as_mut_slice() {
        between.reverse();
    }
    answer
}

/// Sends spaces before the answer, which mean nothing in JSON, so that it takes very long but is always well-formed.
pub(super) fn dripping(answer: Answer, every: std::time::Duration) -> Answer {
    let (before, after) = padding_around(&answer);
    let pieces = vec![
        Piece::Bytes(before),
        Piece::Filler {
            byte: b' ',
            count: 1 << 20,
        },
        Piece::Bytes(after),
    ];
    Answer {
        drip: Some(every),
        ..answer.with_pieces(pieces)
    }
}

/// Drops the last quarter of the last piece without a sign in the length or the chunks.
pub(super) fn truncated(answer: Answer) -> Answer {
    let events = answer.framing == Framing::Chunked;
    let mut bytes = answer.bytes();
    if let Some(last) = bytes.last_mut() {
        last.truncate(last.len() * 3 / 4);
        if events {
            last.extend_from_slice(b"\n\n");
        }
    }
    answer.with_pieces(bytes.into_iter().map(Piece::Bytes).collect())
}

/// Sends this many meaningless bytes before the answer.
pub(super) fn huge(answer: Answer, count: u64) -> Answer {
    let (before, after) = padding_around(&answer);
    let filler = Piece::Filler { byte: b' ', count };
    Answer {
        // No header announces the size.
        framing: Framing::Chunked,
        pieces: vec![Piece::Bytes(before), filler, Piece::Bytes(after)],
        ..answer
    }
}

/// Sends a compressed body that expands to a huge one.
pub(super) fn bomb(answer: Answer) -> Answer {
    let (before, after) = padding_around(&answer);
    let body = packing::bomb(&before, &after);
    answer
        .with_pieces(vec![Piece::Bytes(body)])
        .header("content-encoding", "gzip")
}

/// The bytes before and after the meaningless spaces: a comment in a stream, nothing in JSON.
fn padding_around(answer: &Answer) -> (Vec<u8>, Vec<u8>) {
    let body = answer.bytes().concat();
    match answer.framing {
        Framing::Chunked => (b":".to_vec(), [b"\n\n".to_vec(), body].concat()),
        Framing::Length(_) => (Vec::new(), body),
    }
}
