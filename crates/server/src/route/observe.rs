//! Routes for monitors and generators of clients: readiness, metrics and the OpenAPI document.

use crate::extract::{NoParams, Params};
use crate::openapi;
use crate::refusal::{Refusal, RequestFault};
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use holon_api::Readiness;
use holon_domain::turn::TerminalReason;
use holon_engine::HostFigures;
use holon_engine::meters::{COMMIT_BOUNDS_MS, CommitFigures};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Media type of the text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET /readyz`: answers with 200 once recovery is done, and with 503 before and during a shutdown.
pub(crate) async fn ready(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<Readiness>, Refusal> {
    if !state.meters.is_up() || state.host.shutdown.is_cancelled() {
        return Err(RequestFault::NOT_READY.refuse("the host takes no requests at the moment"));
    }
    Ok(Json(Readiness {
        ok: true,
        ready: true,
    }))
}

/// `GET /openapi.json`: returns the OpenAPI document.
pub(crate) async fn openapi(Params(NoParams {}): Params<NoParams>) -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi::document()).into_response()
}

/// `GET /metrics`: returns the figures of the host in the text format of Prometheus.
pub(crate) async fn metrics(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Response, Refusal> {
    let figures = state.reads.figures().await?;
    let figures = state.host.counters.raise(figures);
    let text = render(
        &figures,
        &state.meters.ended_turns(),
        &state.meters.commits(),
    );
    Ok(([(CONTENT_TYPE, METRICS)], text).into_response())
}

fn render(
    figures: &HostFigures,
    ended_turns: &BTreeMap<TerminalReason, u64>,
    commits: &CommitFigures,
) -> String {
    let mut text = String::new();
    head(
        &mut text,
        "holon_agents",
        "gauge",
        "Public agents by posture.",
    );
    for (posture, count) in &figures.agents {
        // Writing to a string cannot fail.
        writeln!(text, "holon_agents{{posture=\"{posture}\"}} {count}").ok();
    }
    for (name, kind, help, value) in [
        (
            "holon_queue_messages",
            "gauge",
            "Queued messages of all agents that are not archived.",
            figures.queued_messages,
        ),
        (
            "holon_queue_messages_max",
            "gauge",
            "Queued messages of the agent with the most.",
            figures.longest_queue,
        ),
        (
            "holon_open_effects",
            "gauge",
            "Effects that are not closed.",
            figures.open_effects,
        ),
        (
            "holon_db_bytes",
            "gauge",
            "Bytes of the database without its log.",
            figures.db_bytes,
        ),
        (
            "holon_model_rounds_total",
            "counter",
            "Model rounds of the agents. An agent that is removed is counted on until the host ends.",
            figures.model_rounds,
        ),
        (
            "holon_commits_total",
            "counter",
            "Commits since the start.",
            commits.commits,
        ),
    ] {
        head(&mut text, name, kind, help);
        writeln!(text, "{name} {value}").ok();
    }
    head(
        &mut text,
        "holon_tokens_total",
        "counter",
        "Tokens of the agents. An agent that is removed is counted on until the host ends.",
    );
    for (direction, count) in [
        ("input", figures.input_tokens),
        ("output", figures.output_tokens),
    ] {
        writeln!(
            text,
            "holon_tokens_total{{direction=\"{direction}\"}} {count}"
        )
        .ok();
    }
    head(
        &mut text,
        "holon_turns_total",
        "counter",
        "Turns that ended since the start, by reason. All but finished and slept were cut short.",
    );
    for (reason, count) in ended_turns {
        let reason = reason.as_str();
        writeln!(text, "holon_turns_total{{reason=\"{reason}\"}} {count}").ok();
    }
    render_times(&mut text, commits);
    text
}

/// Renders the times of commits as a histogram in seconds. Its classes are cumulative.
fn render_times(text: &mut String, commits: &CommitFigures) {
    const NAME: &str = "holon_commit_seconds";
    head(
        text,
        NAME,
        "histogram",
        "Time from a request to its commit.",
    );
    let mut sum = 0;
    let bounds = COMMIT_BOUNDS_MS
        .iter()
        .map(|bound| format!("{}", *bound as f64 / 1e3));
    for (count, bound) in commits
        .classes
        .iter()
        .zip(bounds.chain(["+Inf".to_owned()]))
    {
        sum += count;
        writeln!(text, "{NAME}_bucket{{le=\"{bound}\"}} {sum}").ok();
    }
    let seconds = commits.total_micros as f64 / 1e6;
    writeln!(text, "{NAME}_sum {seconds}\n{NAME}_count {sum}").ok();
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_a_histogram_are_cumulative() {
        let commits = CommitFigures {
            commits: 7,
            classes: vec![2, 1, 0, 0, 0, 0, 0, 0, 1],
            total_micros: 1_500_000,
        };
        let text = render(&HostFigures::default(), &BTreeMap::new(), &commits);
        for line in [
            "holon_commits_total 7",
            "holon_commit_seconds_bucket{le=\"0.001\"} 2",
            "holon_commit_seconds_bucket{le=\"0.002\"} 3",
            "holon_commit_seconds_bucket{le=\"1\"} 3",
            "holon_commit_seconds_bucket{le=\"+Inf\"} 4",
            "holon_commit_seconds_sum 1.5",
            "holon_commit_seconds_count 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
