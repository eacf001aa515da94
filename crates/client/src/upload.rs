//! The body of a request that is read while it is sent.

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that are read at a time.
const PART: usize = 64 << 10;

/// A source of an archive's bytes.
pub type ArchiveReader = Pin<Box<dyn AsyncRead + Send>>;

/// An archive that is read while it is sent. Reading more or fewer bytes than announced breaks the request off.
pub struct Upload {
    reader: ArchiveReader,
    bytes: u64,
    left: u64,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Upload {
    /// Creates the body of an archive with this many bytes.
    #[must_use]
    pub fn new(reader: ArchiveReader, bytes: u64) -> Self {
        Self {
            reader,
            bytes,
            left: bytes,
        }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut part = BytesMut::zeroed(PART);
        let mut buffer = ReadBuf::new(&mut part);
        ready!(self.reader.as_mut().poll_read(context, &mut buffer))?;
        let read = buffer.filled().len();
        if read == 0 || read as u64 > self.left {
            let changed = io::Error::other("the archive changed while it was sent");
            return Poll::Ready(Some(Err(changed)));
        }
        self.left -= read as u64;
        part.truncate(read);
        Poll::Ready(Some(Ok(Frame::data(part.freeze()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
