//! A run whose news are read while it goes on.

use crate::answer::Answer;
use crate::error::Error;
use crate::exchange::HttpResponse;
use crate::reader::{FrameContent, decode_frame};
use crate::stream::StreamItem;
use crate::view::Run;
use holon_api::EventEnvelope;
use holon_api::event::RUN_COMPLETED;
use holon_domain::limits::ANSWER_BYTES;
use holon_sse::{Frame, Parser};

/// Reads the response of a run to its end and passes its news to `news`. A host that answers whole has no news.
pub(crate) async fn read_run(
    mut response: HttpResponse,
    mut news: impl FnMut(StreamItem),
) -> Result<Answer<Run>, Error> {
    if !response.is_stream() {
        return response.json().await;
    }
    let mut parser = Parser::new(ANSWER_BYTES);
    loop {
        let Some(bytes) = response.chunk().await? else {
            return Err(response.interrupted("the stream ended before the run".into()));
        };
        let mut frames = Vec::new();
        parser
            .push(&bytes, &mut frames)
            .map_err(|error| response.unexpected(error.to_string()))?;
        for frame in frames {
            let data = frame.data.as_deref().unwrap_or_default();
            if frame.event.as_deref() == Some(RUN_COMPLETED) {
                return serde_json::from_str(data)
                    .and_then(Answer::new)
                    .map_err(|error| response.unexpected(error.to_string()));
            }
            match decode_frame(&frame).map_err(|error| response.unexpected(error.to_string()))? {
                FrameContent::Failed(error) => return Err(error),
                FrameContent::Delta(delta) => news(StreamItem::Delta(delta)),
                FrameContent::Event(_)
                | FrameContent::Gap
                | FrameContent::Deleted(_)
                | FrameContent::Other => {
                    news_of(&frame).into_iter().for_each(&mut news);
                }
            }
        }
    }
}

/// Decodes an event of a run, which has no id. A frame of a kind that this client does not know is ignored.
fn news_of(frame: &Frame) -> Option<StreamItem> {
    let envelope: EventEnvelope = serde_json::from_str(frame.data.as_deref()?).ok()?;
    Some(StreamItem::Event(Box::new(envelope)))
}
