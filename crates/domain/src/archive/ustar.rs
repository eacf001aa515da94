//! Headers of tar entries: the part of POSIX ustar that an archive uses.
//!
//! Only regular files have a header here. Links, devices, directories and the extensions of pax and GNU are refused,
//! so no entry can change the size or the path of another.

use super::{HOME, PathFault, check_path};

/// Bytes of a block. Headers have one, contents are padded to full ones.
pub const BLOCK: usize = 512;
/// Bytes of the two zero blocks at the end.
pub const END_BYTES: u64 = 2 * BLOCK as u64;

const NAME: std::ops::Range<usize> = 0..100;
const MODE: std::ops::Range<usize> = 100..108;
const UID: std::ops::Range<usize> = 108..116;
const GID: std::ops::Range<usize> = 116..124;
const SIZE: std::ops::Range<usize> = 124..136;
const MTIME: std::ops::Range<usize> = 136..148;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const TYPE: usize = 156;
const LINK: std::ops::Range<usize> = 157..257;
const MAGIC: std::ops::Range<usize> = 257..265;
const PREFIX: std::ops::Range<usize> = 345..500;
const USTAR: &[u8; 8] = b"ustar\x0000";
/// Largest size that eleven octal digits hold.
const SIZE_MAX: u64 = (1 << 33) - 1;

/// The header of one regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryHeader {
    /// Path inside the archive.
    pub path: String,
    pub bytes: u64,
    pub executable: bool,
}

/// Reason for which a block is no header of an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it is not in the ustar format")]
    Magic,
    #[error("{path:?} is not a regular file but {kind}")]
    Kind { path: String, kind: &'static str },
    #[error("a number in it is not octal")]
    Number,
    #[error("a name in it is not UTF-8")]
    Text,
    #[error("the path {path:?} is refused: {fault}")]
    Path { path: String, fault: PathFault },
}

/// Returns the bytes that an entry with this content takes: its header and the padded content.
#[must_use]
pub const fn entry_bytes(content: u64) -> u64 {
    let block = BLOCK as u64;
    block + content.div_ceil(block) * block
}

/// Returns the zero bytes that follow a content of this size.
#[must_use]
pub const fn padding(content: u64) -> usize {
    let rest = (content % BLOCK as u64) as usize;
    if rest == 0 { 0 } else { BLOCK - rest }
}

/// Returns true if a header can hold this path.
#[must_use]
pub fn fits(path: &str) -> bool {
    split(path).is_some()
}

/// Splits a path into the two fields that hold it.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME.len() {
        return Some(("", path));
    }
    let cuts = path.match_indices('/');
    let mut parts = cuts.filter_map(|(at, _)| Some((path.get(..at)?, path.get(at + 1..)?)));
    parts.find(|(prefix, name)| prefix.len() <= PREFIX.len() && name.len() <= NAME.len())
}

/// Encodes a header. `None` if the path or the size does not fit.
#[must_use]
pub fn encode(header: &EntryHeader) -> Option<[u8; BLOCK]> {
    let (prefix, name) = split(&header.path)?;
    if header.bytes > SIZE_MAX {
        return None;
    }
    let mut block = [0; BLOCK];
    put(&mut block, NAME, name.as_bytes());
    put(&mut block, PREFIX, prefix.as_bytes());
    let mode: &[u8] = if header.executable {
        b"0000700\0"
    } else {
        b"0000600\0"
    };
    put(&mut block, MODE, mode);
    put(&mut block, UID, b"0000000\0");
    put(&mut block, GID, b"0000000\0");
    put(
        &mut block,
        SIZE,
        format!("{:011o}\0", header.bytes).as_bytes(),
    );
    put(&mut block, MTIME, b"00000000000\0");
    put(&mut block, TYPE..TYPE + 1, b"0");
    put(&mut block, MAGIC, USTAR);
    let sum = checksum(&block);
    put(&mut block, CHECKSUM, format!("{sum:06o}\0 ").as_bytes());
    Some(block)
}

fn put(block: &mut [u8; BLOCK], field: std::ops::Range<usize>, bytes: &[u8]) {
    let space = block.get_mut(field).unwrap_or_default();
    for (place, byte) in space.iter_mut().zip(bytes) {
        *place = *byte;
    }
}

/// Adds up all bytes, with the field of the sum itself counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u64 {
    let own = |at: usize| CHECKSUM.contains(&at);
    let bytes = block.iter().enumerate();
    bytes
        .map(|(at, byte)| u64::from(if own(at) { b' ' } else { *byte }))
        .sum()
}

/// Decodes a header. `None` for a block of zeros, which ends the archive.
///
/// # Errors
/// Names the reason for which the block is refused.
pub fn decode(block: &[u8; BLOCK]) -> Result<Option<EntryHeader>, HeaderFault> {
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    if octal(block, CHECKSUM)? != checksum(block) {
        return Err(HeaderFault::Checksum);
    }
    if field(block, MAGIC) != USTAR {
        return Err(HeaderFault::Magic);
    }
    let path = match (text(block, PREFIX)?, text(block, NAME)?) {
        ("", name) => name.to_owned(),
        (prefix, name) => format!("{prefix}/{name}"),
    };
    let kind = block.get(TYPE).copied().unwrap_or_default();
    if kind != b'0' || field(block, LINK).iter().any(|byte| *byte != 0) {
        let kind = kind_name(kind);
        return Err(HeaderFault::Kind { path, kind });
    }
    // The limits are those of a path below the home.
    if let Err(fault) = check_path(path.strip_prefix(HOME).unwrap_or(&path)) {
        return Err(HeaderFault::Path { path, fault });
    }
    Ok(Some(EntryHeader {
        path,
        bytes: octal(block, SIZE)?,
        executable: octal(block, MODE)? & 0o100 != 0,
    }))
}

const fn kind_name(kind: u8) -> &'static str {
    match kind {
        b'0' => "a file with a link target",
        b'1' => "a hard link",
        b'2' => "a symbolic link",
        b'3' | b'4' => "a device",
        b'5' => "a directory",
        b'6' => "a pipe",
        b'x' | b'g' | b'L' | b'K' | b'S' => "an extension header",
        _ => "of an unknown kind",
    }
}

fn field(block: &[u8; BLOCK], field: std::ops::Range<usize>) -> &[u8] {
    block.get(field).unwrap_or_default()
}

/// Reads a text up to its first zero byte. Anything but zeros behind it is refused.
fn text(block: &[u8; BLOCK], range: std::ops::Range<usize>) -> Result<&str, HeaderFault> {
    let bytes = field(block, range);
    let end = bytes.iter().position(|byte| *byte == 0);
    let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
    if rest.iter().any(|byte| *byte != 0) {
        return Err(HeaderFault::Text);
    }
    std::str::from_utf8(text).map_err(|_| HeaderFault::Text)
}

/// Reads octal digits that end with a zero byte or a space. Binary numbers of other dialects are refused.
fn octal(block: &[u8; BLOCK], range: std::ops::Range<usize>) -> Result<u64, HeaderFault> {
    let bytes = field(block, range);
    let is_end = |byte: &u8| matches!(byte, 0 | b' ');
    let end = bytes.iter().position(is_end).unwrap_or(bytes.len());
    let (digits, rest) = bytes.split_at(end);
    if digits.is_empty() || !rest.iter().all(is_end) {
        return Err(HeaderFault::Number);
    }
    digits.iter().try_fold(0_u64, |sum, digit| match digit {
        b'0'..=b'7' => Ok(sum * 8 + u64::from(digit - b'0')),
        _ => Err(HeaderFault::Number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(path: &str, bytes: u64) -> EntryHeader {
        EntryHeader {
            path: path.to_owned(),
            bytes,
            executable: false,
        }
    }

    /// Changes bytes of a valid header and mends the checksum.
    fn forged(change: impl FnOnce(&mut [u8; BLOCK])) -> [u8; BLOCK] {
        let mut block = encode(&header("home/a", 5)).expect("it fits");
        change(&mut block);
        let sum = checksum(&block);
        put(&mut block, CHECKSUM, format!("{sum:06o}\0 ").as_bytes());
        block
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let long = format!("home/{}/{}", "d".repeat(139), "f".repeat(100));
        for path in ["manifest.json", "home/ä b", &long] {
            for (bytes, executable) in [(0, false), (1, true), (SIZE_MAX, false)] {
                let header = EntryHeader {
                    executable,
                    ..header(path, bytes)
                };
                let block = encode(&header).expect("it fits");
                assert_eq!(decode(&block), Ok(Some(header)));
            }
        }
        assert_eq!(decode(&[0; BLOCK]), Ok(None));
    }

    #[test]
    fn what_no_header_can_hold_is_not_written() {
        assert_eq!(encode(&header(&"x".repeat(101), 0)), None);
        let no_cut = format!("{}/{}", "d".repeat(156), "f");
        assert_eq!(encode(&header(&no_cut, 0)), None);
        assert_eq!(encode(&header("a", SIZE_MAX + 1)), None);
    }

    #[test]
    fn hostile_headers_are_refused() {
        let kind = |byte: u8| forged(|block| block[TYPE] = byte);
        for byte in *b"1234567xgLKS\0Z" {
            let refused = decode(&kind(byte));
            assert!(
                matches!(refused, Err(HeaderFault::Kind { .. })),
                "{byte}: {refused:?}"
            );
        }
        let link = forged(|block| block[LINK.start] = b'x');
        assert!(matches!(decode(&link), Err(HeaderFault::Kind { .. })));
        let gnu = forged(|block| put(block, MAGIC, b"ustar  \0"));
        assert_eq!(decode(&gnu), Err(HeaderFault::Magic));
        let binary_size = forged(|block| block[SIZE.start] = 0x80);
        assert_eq!(decode(&binary_size), Err(HeaderFault::Number));
        let behind_zero = forged(|block| block[NAME.start + 50] = b'x');
        assert_eq!(decode(&behind_zero), Err(HeaderFault::Text));
        let not_text = forged(|block| block[NAME.start] = 0xff);
        assert_eq!(decode(&not_text), Err(HeaderFault::Text));
        for path in [
            "../evil",
            "/etc/passwd",
            "home/../../x",
            "home/./x",
            "home//etc",
            "home/",
        ] {
            let climbing = forged(|block| {
                put(block, NAME, &[0; 100]);
                put(block, NAME, path.as_bytes());
            });
            let refused = decode(&climbing);
            assert!(matches!(refused, Err(HeaderFault::Path { .. })), "{path}");
        }
        let mut damaged = encode(&header("home/a", 5)).expect("it fits");
        damaged[0] ^= 1;
        assert_eq!(decode(&damaged), Err(HeaderFault::Checksum));
    }

    #[test]
    fn contents_are_padded_to_blocks() {
        assert_eq!((padding(0), padding(1), padding(512)), (0, 511, 0));
        assert_eq!((entry_bytes(0), entry_bytes(1)), (512, 1024));
    }
}
