//! Compressed bodies: valid ones, and a decompression bomb.

use flate2::write::GzEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress};
use std::io::Write as _;

/// Repetitions of a bomb's block; each unpacks to `BLOCK` bytes.
const BLOCKS: u32 = 256;
const BLOCK: usize = 1 << 20;
/// Buffer for one compressed part of a bomb.
const ROOM: usize = 64 << 10;

/// Compresses the pieces as one body. Each piece can be unpacked on arrival.
pub(super) fn gzip(pieces: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut packed = Vec::new();
    for piece in pieces {
        encoder.write_all(piece).expect("memory takes everything");
        encoder.flush().expect("memory takes everything");
        packed.push(std::mem::take(encoder.get_mut()));
    }
    packed.push(encoder.finish().expect("memory takes everything"));
    packed
}

/// Builds a body that unpacks to `before`, 256 MiB of spaces, and `after`.
pub(super) fn bomb(before: &[u8], after: &[u8]) -> Vec<u8> {
    let spaces = vec![b' '; BLOCK];
    let block = deflate(&spaces, FlushCompress::Full);
    let mut body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    body.extend(deflate(before, FlushCompress::Full));
    // A full flush ends on a byte border and resets the state, so the compressed block can be repeated.
    for _ in 0..BLOCKS {
        body.extend_from_slice(&block);
    }
    body.extend(deflate(after, FlushCompress::Finish));
    let mut crc = checksum(before);
    let spaces = checksum(&spaces);
    for _ in 0..BLOCKS {
        crc.combine(&spaces);
    }
    crc.combine(&checksum(after));
    body.extend(crc.sum().to_le_bytes());
    body.extend(crc.amount().to_le_bytes());
    body
}

fn deflate(bytes: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut compress = Compress::new(Compression::best(), false);
    let mut packed = Vec::with_capacity(ROOM);
    compress
        .compress_vec(bytes, &mut packed, flush)
        .expect("nothing about plain bytes can be wrong");
    assert_eq!(compress.total_in(), bytes.len() as u64, "there was room");
    packed
}

fn checksum(bytes: &[u8]) -> Crc {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read as _;

    #[test]
    fn a_bomb_is_small_and_unpacks_to_what_it_says() {
        let body = bomb(b"<", b">");
        assert!(body.len() < 1 << 20, "{} bytes", body.len());
        let mut unpacked = Vec::new();
        GzDecoder::new(body.as_slice())
            .read_to_end(&mut unpacked)
            .expect("a sound body, checksum and all");
        assert_eq!(unpacked.len(), 256 * BLOCK + 2);
        assert_eq!(
            (unpacked.first(), unpacked.last()),
            (Some(&b'<'), Some(&b'>'))
        );
    }

    #[test]
    fn pieces_can_be_unpacked_as_they_arrive() {
        let packed = gzip(&[b"one".to_vec(), b"two".to_vec()]);
        let mut first = [0; 3];
        let arrived = packed.first().expect("a piece");
        GzDecoder::new(arrived.as_slice())
            .read_exact(&mut first)
            .expect("the first piece is enough");
        assert_eq!(&first, b"one");
    }
}
