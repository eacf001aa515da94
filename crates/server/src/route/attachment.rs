//! The route that answers with a file which an agent has attached to a notification or a brief.
//!
//! The file is read as its reader takes it, and it holds one of the places for streams. A reader that takes nothing for
//! too long loses its connection.

use crate::chunks::{ChunkSender, ReaderGone, StreamKind};
use crate::extract::{AgentPath, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Connection, ReadState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse as _, Response};
use bytes::BytesMut;
use holon_engine::ports::FileParts;
use holon_engine::reads::AttachmentRead;
use serde::Deserialize;
use std::convert::Infallible;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// Size of a part of a file that is sent, in bytes.
const PART_BYTES: usize = 64 << 10;

/// Query of an attached file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachmentParams {
    /// Path in the agent's home, as the attachment names it.
    path: String,
}

/// `GET /agents/{id}/attachment`: returns an attached file as it is now. Its type is never guessed, so that a browser
/// shows nothing of it.
pub(crate) async fn show(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<AttachmentParams>,
    connection: Option<Extension<Connection>>,
) -> Result<Response, Refusal> {
    let refuse = |words: String| RequestFault::NO_SUCH_ATTACHMENT.refuse(words);
    match state.reads.attachment(&agent_id, &params.path).await? {
        AttachmentRead::Opened(file) => {
            let connection = connection.map(|Extension(connection)| connection);
            let (chunks, received) =
                ChunkSender::open(&state.host, StreamKind::Events, connection)?;
            let headers = [
                (
                    CONTENT_TYPE,
                    HeaderValue::from_static("application/octet-stream"),
                ),
                (CONTENT_LENGTH, HeaderValue::from(file.bytes())),
                (CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
                (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            ];
            state.host.tasks.spawn(send_file(file, chunks));
            let body = ReceiverStream::new(received).map(Ok::<_, Infallible>);
            Ok((headers, Body::from_stream(body)).into_response())
        }
        AttachmentRead::NotAttached => Err(refuse(format!(
            "{agent_id} has attached no file {:?}",
            params.path
        ))),
        AttachmentRead::Unreadable(reason) => Err(refuse(format!(
            "the file {:?} cannot be sent: {reason}",
            params.path
        ))),
    }
}

/// Sends the file as its reader takes it. A body that ends before the length in its header tells the reader that the
/// file became shorter or could not be read to its end.
async fn send_file(mut file: Box<dyn FileParts>, chunks: ChunkSender) {
    let mut left = file.bytes();
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PART_BYTES).min(PART_BYTES);
        let part = match file.read_part(most).await {
            Ok(part) if part.is_empty() => return,
            Ok(part) => part,
            Err(reason) => {
                tracing::warn!(reason, "an attached file could not be read to its end");
                return;
            }
        };
        left = left.saturating_sub(part.len() as u64);
        if chunks.send(BytesMut::from(part.as_slice())).await == Err(ReaderGone) {
            return;
        }
    }
    // A reader that is gone takes no more.
    let (Ok(()) | Err(ReaderGone)) = chunks.finish(BytesMut::new()).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::tests::host;
    use async_trait::async_trait;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio_util::sync::CancellationToken;

    /// A file of zeroes, and the bytes that were read of it.
    #[derive(Debug)]
    struct Zeroes {
        bytes: u64,
        read: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl FileParts for Zeroes {
        fn bytes(&self) -> u64 {
            self.bytes
        }

        async fn read_part(&mut self, most: usize) -> Result<Vec<u8>, String> {
            self.read.fetch_add(most, Ordering::Relaxed);
            Ok(vec![0; most])
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_holds_a_few_parts_and_loses_its_connection() {
        let close = CancellationToken::new();
        let (host, read) = (host(1), Arc::<AtomicUsize>::default());
        let connection = Some(Connection(close.clone()));
        let (chunks, received) = ChunkSender::open(&host, StreamKind::Events, connection)
            .ok()
            .unwrap();
        let file = Zeroes {
            bytes: 16 << 20,
            read: Arc::clone(&read),
        };
        send_file(Box::new(file), chunks).await;
        assert!(close.is_cancelled());
        assert!(read.load(Ordering::Relaxed) <= 6 * PART_BYTES);
        drop(received);
        assert_eq!(host.streams.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_everything_gets_the_whole_file() {
        let (host, read) = (host(1), Arc::<AtomicUsize>::default());
        let (chunks, mut received) = ChunkSender::open(&host, StreamKind::Events, None)
            .ok()
            .unwrap();
        let bytes = 3 * PART_BYTES + 7;
        let file = Zeroes {
            bytes: bytes as u64,
            read,
        };
        let reader = async {
            let mut taken = 0;
            while let Some(part) = received.recv().await {
                taken += part.len();
            }
            taken
        };
        let ((), taken) = tokio::join!(send_file(Box::new(file), chunks), reader);
        assert_eq!(taken, bytes);
    }
}
