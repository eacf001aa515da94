//! Reads the entries of an archive one after the other, without trust in any of them.

use super::{ArchiveError, ArchiveLimits};
use crate::error::at;
use holon_domain::archive::EntryDigest;
use holon_domain::archive::ustar::{self, EntryHeader};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Bytes that are copied at a time.
const CHUNK: usize = 64 << 10;

/// The entries of an archive, in order.
pub(super) struct Entries<'a> {
    reader: BufReader<&'a mut File>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(file: &'a mut File) -> Self {
        Self {
            reader: BufReader::with_capacity(CHUNK, file),
        }
    }

    fn block(&mut self) -> Result<[u8; ustar::BLOCK], ArchiveError> {
        let mut block = [0; ustar::BLOCK];
        let read = self.reader.read_exact(&mut block);
        read.map_err(|error| ArchiveError::reading(&error))?;
        Ok(block)
    }

    /// Reads the next header. `None` at the first block of the end mark.
    pub(super) fn next_header(&mut self) -> Result<Option<EntryHeader>, ArchiveError> {
        let block = self.block()?;
        ustar::decode(&block).map_err(|fault| ArchiveError::header(&fault))
    }

    /// Reads the second block of the end mark. Only zeros may follow, as some programs pad archives.
    pub(super) fn check_end(&mut self) -> Result<(), ArchiveError> {
        if self.block()?.iter().any(|byte| *byte != 0) {
            return Err(ArchiveError::refused("something follows its end mark"));
        }
        let mut rest = [0; ustar::BLOCK];
        loop {
            let read = self.reader.read(&mut rest);
            let read = read.map_err(|error| ArchiveError::reading(&error))?;
            if read == 0 {
                return Ok(());
            }
            if rest.iter().take(read).any(|byte| *byte != 0) {
                return Err(ArchiveError::refused("something follows its end mark"));
            }
        }
    }

    /// Reads an entry that must be the next one and is kept in memory.
    pub(super) fn text(
        &mut self,
        path: &str,
        limits: ArchiveLimits,
    ) -> Result<Vec<u8>, ArchiveError> {
        let header = self.next_header()?.filter(|header| header.path == path);
        let header = header
            .ok_or_else(|| ArchiveError::refused(format!("{path:?} is not where it must be")))?;
        if header.bytes > limits.text_bytes {
            return Err(ArchiveError::refused(format!("{path:?} is too large")));
        }
        let mut text = Vec::new();
        self.copy(&header, &mut text)?;
        Ok(text)
    }

    pub(super) fn skip(&mut self, header: &EntryHeader) -> Result<(), ArchiveError> {
        self.copy(header, &mut io::sink()).map(drop)
    }

    /// Copies a content and compares it with its digest.
    pub(super) fn check(
        &mut self,
        header: &EntryHeader,
        expected: &EntryDigest,
        out: &mut dyn Write,
    ) -> Result<(), ArchiveError> {
        if header.bytes != expected.bytes || self.copy(header, out)? != expected.sha256 {
            return Err(differs(&header.path));
        }
        Ok(())
    }

    /// Copies a content with its padding, and returns its hash.
    fn copy(&mut self, header: &EntryHeader, out: &mut dyn Write) -> Result<String, ArchiveError> {
        let mut hash = Sha256::new();
        let mut left = header.bytes;
        let mut chunk = vec![0; CHUNK];
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let part = chunk.get_mut(..wanted).unwrap_or_default();
            let read = self.reader.read_exact(part);
            read.map_err(|error| ArchiveError::reading(&error))?;
            hash.update(&*part);
            out.write_all(part)
                .map_err(at("write", Path::new(&header.path)))?;
            left -= wanted as u64;
        }
        let mut padding = [0; ustar::BLOCK];
        let padding = padding.get_mut(..ustar::padding(header.bytes));
        let padding = padding.unwrap_or_default();
        let read = self.reader.read_exact(padding);
        read.map_err(|error| ArchiveError::reading(&error))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(ArchiveError::refused(format!(
                "the padding of {:?} is not empty",
                header.path
            )));
        }
        Ok(hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            write!(hex, "{byte:02x}").ok();
            hex
        }))
    }
}

/// Refuses an entry that differs from its line in the manifest.
pub(super) fn differs(path: &str) -> ArchiveError {
    ArchiveError::refused(format!("{path:?} is not what the manifest says"))
}
