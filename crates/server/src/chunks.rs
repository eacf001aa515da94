//! The way of a stream's chunks to its connection. A reader that does not read for too long loses its connection.
//!
//! There is no other way, and it holds one of the places for streams, so that every stream is counted.

use crate::refusal::{Refusal, RequestFault};
use crate::state::{Connection, Host};
use bytes::{Bytes, BytesMut};
use holon_domain::limits::STREAM_STALL_MS;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Capacity of the queue of chunks to a connection.
const CHUNKS: usize = 4;
/// Size of a piece of the last chunk, in bytes. What a connection has taken is out of reach, so it takes little at once.
const PIECE_BYTES: usize = 64 << 10;

/// The stream has no reader any more, or the host shuts down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReaderGone;

/// Kind of a stream. Each has places of its own, so that watchers of events hold up no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    Events,
    Run,
}

/// The sending end of one stream.
pub(crate) struct ChunkSender {
    host: Arc<Host>,
    chunks: mpsc::Sender<Bytes>,
    /// Absent if the connection cannot be closed from here.
    connection: Option<Connection>,
    /// Place among the open streams.
    _place: OwnedSemaphorePermit,
}

impl ChunkSender {
    /// Creates the two ends of a stream of a kind. Its place is free again when the sending end is dropped.
    ///
    /// # Errors
    /// When all places for streams of this kind are taken.
    pub(crate) fn open(
        host: &Arc<Host>,
        kind: StreamKind,
        connection: Option<Connection>,
    ) -> Result<(Self, mpsc::Receiver<Bytes>), Refusal> {
        let places = match kind {
            StreamKind::Events => &host.streams,
            StreamKind::Run => &host.run_streams,
        };
        let place = Arc::clone(places).try_acquire_owned();
        let place = place
            .map_err(|_| RequestFault::TOO_MANY_STREAMS.refuse("too many streams are open"))?;
        let (chunks, received) = mpsc::channel(CHUNKS);
        let sender = Self {
            host: Arc::clone(host),
            chunks,
            connection,
            _place: place,
        };
        Ok((sender, received))
    }

    /// Sends a chunk, and closes the connection of a reader that takes none for too long. The end of the body alone would
    /// not free the connection.
    pub(crate) async fn send(&self, chunk: BytesMut) -> Result<(), ReaderGone> {
        self.unless_stalled(self.chunks.send(chunk.freeze())).await
    }

    /// Sends the last chunk, and waits until the reader has taken all that was sent.
    pub(crate) async fn finish(self, mut chunk: BytesMut) -> Result<(), ReaderGone> {
        while !chunk.is_empty() {
            let piece = chunk.split_to(chunk.len().min(PIECE_BYTES));
            self.send(piece).await?;
        }
        self.unless_stalled(async { self.chunks.reserve_many(CHUNKS).await.map(drop) })
            .await
    }

    async fn unless_stalled<E>(
        &self,
        progress: impl Future<Output = Result<(), E>>,
    ) -> Result<(), ReaderGone> {
        let stalled = Duration::from_millis(STREAM_STALL_MS);
        tokio::select! {
            biased;
            made = tokio::time::timeout(stalled, progress) => match made {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(ReaderGone),
                Err(_) => {
                    if let Some(Connection(close)) = &self.connection {
                        close.cancel();
                    }
                    Err(ReaderGone)
                }
            },
            () = self.host.shutdown.cancelled() => Err(ReaderGone),
        }
    }

    /// Waits until the reader is gone.
    pub(crate) async fn closed(&self) {
        self.chunks.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::tests::host;
    use tokio_util::sync::CancellationToken;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_does_not_read_loses_its_connection() {
        let close = CancellationToken::new();
        let connection = Some(Connection(close.clone()));
        let (sender, received) = ChunkSender::open(&host(1), StreamKind::Events, connection)
            .ok()
            .unwrap();
        for _ in 0..CHUNKS {
            assert_eq!(sender.send(BytesMut::from("x")).await, Ok(()));
        }
        assert!(!close.is_cancelled());
        assert_eq!(sender.send(BytesMut::from("x")).await, Err(ReaderGone));
        assert!(close.is_cancelled());
        drop(received);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_leaves_the_end_unread_loses_its_connection_too() {
        for takes in [true, false] {
            let close = CancellationToken::new();
            let connection = Some(Connection(close.clone()));
            let (sender, mut received) =
                ChunkSender::open(&host(1), StreamKind::Events, connection)
                    .ok()
                    .unwrap();
            let end = BytesMut::from(vec![b'x'; PIECE_BYTES + 1].as_slice());
            let reader = async {
                let mut read = 0;
                while takes && let Some(piece) = received.recv().await {
                    read += piece.len();
                    if read > PIECE_BYTES {
                        break;
                    }
                }
                read
            };
            let (sent, read) = tokio::join!(sender.finish(end), reader);
            assert_eq!(sent.is_ok(), takes);
            assert_eq!(read, if takes { PIECE_BYTES + 1 } else { 0 });
            assert_eq!(close.is_cancelled(), !takes);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_shutdown_does_not_wait_for_a_reader() {
        let host = host(1);
        let (sender, _received) = ChunkSender::open(&host, StreamKind::Events, None)
            .ok()
            .unwrap();
        for _ in 0..CHUNKS {
            assert_eq!(sender.send(BytesMut::from("x")).await, Ok(()));
        }
        host.shutdown.cancel();
        assert_eq!(sender.send(BytesMut::from("x")).await, Err(ReaderGone));
    }
}
