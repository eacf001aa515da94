//! A run whose news are read while it goes on.

use crate::answer::Answer;
use crate::error::Error;
use crate::exchange::HttpResponse;
use crate::reader::{FrameContent, decode_frame};
use crate::view::Run;
use holon_api::event::{RUN_COMPLETED, RUN_QUEUED};
use holon_api::{EventEnvelope, RunQueued};
use holon_domain::delta::AssistantDelta;
use holon_domain::limits::ANSWER_BYTES;
use holon_sse::{Frame, Parser};

/// One piece of news of a run.
#[derive(Debug)]
pub enum RunItem {
    /// The agent is at work on another message, and the run waits for its turn.
    Queued(RunQueued),
    /// Event of the agent, of any turn.
    Event(Box<EventEnvelope>),
    /// Text of the run that is still arriving. The event of the recorded round replaces it.
    Delta(AssistantDelta),
}

/// Reads the response of a run to its end and passes its news to `news`. A host that answers whole has no news.
pub(crate) async fn read_run(
    mut response: HttpResponse,
    mut news: impl FnMut(RunItem),
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
                FrameContent::Delta(delta) => news(RunItem::Delta(delta)),
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

/// Decodes a frame of a run, which has no id. A frame of a kind that this client does not know is ignored.
fn news_of(frame: &Frame) -> Option<RunItem> {
    let data = frame.data.as_deref()?;
    if frame.event.as_deref() == Some(RUN_QUEUED) {
        return serde_json::from_str(data).ok().map(RunItem::Queued);
    }
    let envelope: EventEnvelope = serde_json::from_str(data).ok()?;
    Some(RunItem::Event(Box::new(envelope)))
}
