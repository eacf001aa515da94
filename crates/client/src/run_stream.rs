//! Runs: one request to its outcome, also over a restart of the host, with the news while it goes on.

use crate::answer::Answer;
use crate::client::Client;
use crate::error::Error;
use crate::exchange::{HttpRequest, HttpResponse, ReadTimeout, send_request};
use crate::reader::{FrameContent, decode_frame};
use crate::view::Run;
use crate::{repeat, retry};
use holon_api::event::{RUN_COMPLETED, RUN_QUEUED};
use holon_api::{EventEnvelope, RunQueued, RunRequest};
use holon_domain::delta::AssistantDelta;
use holon_domain::limits::{ANSWER_BYTES, STREAM_RETRIES};
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

/// Code of a host that goes down. A run that it had admitted goes on after its next start.
const SHUTTING_DOWN: &str = "shutting_down";
/// Code of a host that has no place for another stream. Nothing of the run was done.
const TOO_MANY_STREAMS: &str = "too_many_streams";
/// The route of a run that is answered whole, and of one with news.
const PLAIN: &str = "/control/run";
const WATCHED: &str = "/control/run?deltas=true";

impl Client {
    /// Runs one request to its outcome. There is no timeout, as the work may take any time. A host that is restarted
    /// meanwhile is asked again with the same key, which joins the run.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn run(&self, request: &RunRequest) -> Result<Answer<Run>, Error> {
        self.run_at(PLAIN, request, |_| {}).await
    }

    /// Runs one request to its outcome like `run`, and passes its news to `news` while it goes on. A host without a place
    /// for another stream runs it without news.
    ///
    /// # Errors
    /// As [`Error`] lists. A host that is too old for this refuses the query before it does anything.
    pub async fn run_watched(
        &self,
        request: &RunRequest,
        news: impl FnMut(RunItem),
    ) -> Result<Answer<Run>, Error> {
        self.run_at(WATCHED, request, news).await
    }

    /// Sends a run until its outcome is there, with the patience of an event stream.
    async fn run_at(
        &self,
        mut target: &'static str,
        request: &RunRequest,
        mut news: impl FnMut(RunItem),
    ) -> Result<Answer<Run>, Error> {
        let (body, key) = (self.encode(request)?, repeat::new_key());
        let sent = |target| HttpRequest::post(target, body.clone(), &key, ReadTimeout::Unlimited);
        let mut failures = 0;
        // How the run was lost for the first time. From then on it may have begun.
        let mut lost: Option<Error> = None;
        loop {
            let is_known = match &lost {
                None => Ok(true),
                Some(_) => self.keeps_replies().await,
            };
            let outcome = match (is_known, &lost) {
                // A host that does not know keys would run it a second time.
                (Ok(false), Some(lost)) => return Err(lost.clone()),
                (Err(error), _) => Err(error),
                (Ok(_), _) => {
                    let news = |item| {
                        failures = 0;
                        news(item);
                    };
                    self.run_once(sent(target), news).await
                }
            };
            let error = match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let is_lost = match &error {
                Error::Interrupted { .. } => true,
                other => other.code() == Some(SHUTTING_DOWN),
            };
            let is_full = error.code() == Some(TOO_MANY_STREAMS);
            if is_full && lost.is_none() && target == WATCHED {
                target = PLAIN;
                continue;
            }
            // An error with a code is the host's answer, also at the end of a stream. A run that may have begun is
            // joined at the route that began it, so a place among the streams is waited for.
            let is_away = error.is_transient() && error.code().is_none() || is_full;
            if !is_lost && (lost.is_none() || !is_away) {
                return Err(error);
            }
            let lost = lost.get_or_insert(error);
            if failures >= STREAM_RETRIES {
                return Err(lost.clone());
            }
            retry::back_off(failures).await;
            failures += 1;
        }
    }

    async fn run_once(
        &self,
        request: HttpRequest,
        news: impl FnMut(RunItem),
    ) -> Result<Answer<Run>, Error> {
        read_run(send_request(self.address(), request).await?, news).await
    }
}

/// Reads the response of a run to its end and passes its news to `news`. A host that answers whole has no news.
async fn read_run(
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
