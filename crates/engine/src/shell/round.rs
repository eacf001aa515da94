//! Performs a model round: reads the turn's rows, calls the model, and stamps the outcome. `model_request` builds the
//! request and interprets the reply.

use super::{AFTER_A_FAULT_MS, Shell};
use crate::error::Error;
use crate::model_request::{self, KnownThread, RequestFiles, RequestTerms, RoundRequest};
use crate::request_trail::RequestTrail;
use holon_core::input::{FailedAttempt, RoundTiming};
use holon_core::{Input, Stamp};
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::guidance::{Guidance, GuidanceRoots};
use holon_domain::model::{ModelFailure, ModelRef};
use holon_domain::place::Place;
use holon_domain::provider::{AskedServer, ModelPolicy, PolicySource, StatedWindow};
use holon_domain::turn::ShownContent;
use holon_store::TurnRows;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// Log target of failed model calls. A run in the terminal shows them in its own words and leaves the target out.
pub const MODEL_CALL_LOG: &str = "holon_engine::model_call";

impl Shell {
    /// Calls the model. `None` if the turn is over, or if the host goes down; the next boot then repeats the call.
    pub(super) async fn call_model(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        stamp: Stamp,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let began = self.ports.clock.elapsed();
        let (mut rows, thread) = self.rows_of_turn(agent_id, turn_index, &cancel).await?;
        let Some(model) = &rows.turn.model else {
            return Some(self.fail_unasked(stamp, ModelFailure::no_model()));
        };
        let policy = self.ports.model.policy(model);
        let endpoint = self.ports.model.endpoint(model);
        let stated = tokio::select! {
            stated = self.stated_window(model, policy) => stated,
            () = cancel.cancelled() => return None,
            () = self.draining.cancelled() => return None,
        };
        let cache = self.ports.model.cache_lives(model);
        rows.learned = rows.learned.at(endpoint);
        let stated = model_request::add_statement(&mut rows, policy, stated);
        self.refresh_listed_plans(&mut rows).await;
        let files = RequestFiles {
            plan: self.look_at_plan(&rows).await,
            guidance: self.read_guidance(&rows).await,
            place: self.look_at_place(&rows).await,
            images: self.load_images(&rows, &thread, policy).await,
        };
        let terms = RequestTerms {
            reminder: self.conduct.reminder,
            web_tools: self.ports.web.tools(),
            thread: self.conduct.thread.with_cache(cache),
        };
        let round = RoundRequest::new(rows, &thread, policy, files, terms)?.with_statement(stated);
        if let Some(estimate) = round.over_budget() {
            return Some(Input::CallMeasured { stamp, estimate });
        }
        holon_fault::hit("round.reserved");
        let build_ms = self.millis_since(began);
        let (started_at, asked) = (self.ports.clock.now(), self.ports.clock.elapsed());
        let expanded = self.expand_request(agent_id, &round.request).await;
        let request = expanded.as_ref().unwrap_or(&round.request);
        let too_long = round.over_length();
        let overlap = match too_long {
            Some(_) => None,
            None => Some(
                self.request_trails
                    .note(agent_id, RequestTrail::of(request)),
            ),
        };
        let sent = AtomicU64::new(0);
        let text = |piece: &str| {
            // The answer may repeat a token, in pieces that nothing recognises. Its record conceals it.
            if expanded.is_some() {
                return;
            }
            let offset = sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
            self.deltas.send(AssistantDelta {
                agent_id: agent_id.clone(),
                turn_index,
                round: request.round,
                effect: stamp.effect,
                offset,
                text: piece.to_owned(),
            });
            holon_fault::hit("round.delta");
        };
        let call = async {
            match too_long {
                Some(failure) => Err(failure),
                None => self.ports.model.call(request, &text, cancel.clone()).await,
            }
        };
        let mut reply = tokio::select! {
            reply = call => reply,
            () = cancel.cancelled() => return None,
            () = self.draining.cancelled() => return None,
        };
        match &mut reply {
            Ok(reply) => self.conceal(agent_id, reply).await,
            Err(failure) => {
                // No client may see it, because a fallback model answers. The message is bounded and contains no secret.
                let (kind, why) = (failure.kind.as_str(), &failure.message);
                tracing::warn!(target: MODEL_CALL_LOG, %agent_id, model = %request.model, kind, why, "a model did not answer");
            }
        }
        let timing = RoundTiming {
            context_build_ms: build_ms,
            started_at,
            completed_at: self.ports.clock.now(),
            provider_ms: self.millis_since(asked),
        };
        let mut entropy = self.ports.entropy.source();
        let mut outcome = round.outcome(stamp, reply, timing, entropy.as_mut());
        if let Input::RoundAnswered { answer, .. } = &mut outcome {
            answer.overlap = overlap;
        }
        Some(outcome)
    }

    /// Asks the server of a model for the window that is otherwise assumed.
    async fn stated_window(&self, model: &ModelRef, policy: ModelPolicy) -> Option<StatedWindow> {
        match policy.source {
            PolicySource::UnknownFallback => {
                let now = self.ports.clock.elapsed();
                self.ports.model.stated_window(model, now).await
            }
            PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => {
                None
            }
        }
    }

    /// Reads the agent's guidance for the first request of a turn. The frame that later requests show is stored.
    async fn read_guidance(&self, rows: &TurnRows) -> Guidance {
        if rows.frame.is_some() {
            return Guidance::default();
        }
        self.ensure_home(&rows.agent).await;
        let identity = &rows.agent.identity;
        let facts = self.kernel.conditions().now();
        let kind = facts.kind_of(&identity.agent_id, identity.kind);
        let roots = GuidanceRoots::of(&rows.agent, &rows.turn.workspace).with_kind(kind);
        self.ports.guidance.read(roots).await
    }

    /// Looks at where the agent works, for the first request of a turn.
    async fn look_at_place(&self, rows: &TurnRows) -> Place {
        if rows.frame.is_some() {
            return Place::default();
        }
        let place = self.ports.workspace.place(&rows.turn.workspace).await;
        Place {
            zone: self.conduct.operator_zone.clone(),
            ..place
        }
    }

    /// Reads the rows the request is built from. A failed read is not the provider's fault, so it is retried until it
    /// succeeds or the round is cancelled.
    async fn rows_of_turn(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        cancel: &CancellationToken,
    ) -> Option<(TurnRows, KnownThread)> {
        loop {
            let read = self.turn_rows(agent_id, turn_index);
            let error = match self.read_or_put_aside(agent_id, read).await {
                Ok(rows) => return rows,
                Err(Error::AgentAside { .. }) => return None,
                Err(error) => error,
            };
            tracing::warn!(%agent_id, %error, "the turn of an agent could not be read yet");
            tokio::select! {
                () = self.pause(AFTER_A_FAULT_MS) => {}
                () = cancel.cancelled() => return None,
                () = self.draining.cancelled() => return None,
            }
        }
    }

    /// Builds the outcome of a round that failed before a model was called.
    fn fail_unasked(&self, stamp: Stamp, failure: ModelFailure) -> Input {
        let now = self.ports.clock.now();
        let timing = RoundTiming {
            context_build_ms: 0,
            started_at: now,
            completed_at: now,
            provider_ms: 0,
        };
        Input::AttemptFailed {
            stamp,
            attempt: Box::new(FailedAttempt {
                shown: ShownContent::default(),
                implausible_usage: None,
                failure,
                timing,
                server: AskedServer::default(),
                interjected: Vec::new(),
                request_tokens: 0,
                answer_tokens: 0,
            }),
        }
    }

    pub(super) fn millis_since(&self, began: std::time::Duration) -> u64 {
        let took = self.ports.clock.elapsed().saturating_sub(began);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }
}
