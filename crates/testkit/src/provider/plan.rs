//! Turns a round and a request into the server's reaction.

use super::answer::{Answer, Ending, Piece, Reaction};
use super::error_body as refuse;
use super::falsify::{bomb, broken_off, dripping, followed_by, huge, reversed, truncated};
use super::fault::Fault;
use super::mint::Mint;
use super::packing;
use super::protocol::Protocol;
use super::recorded_request::RecordedRequest;
use super::render::{self, CallIds, Form, Voice};
use super::round::{Arguments, Connection, ModelOutput, Packing, Part, Round};
use serde_json::json;

/// Bytes of one piece of an answer without an end, and the number of pieces.
const ENDLESS_PIECE: usize = 64 << 10;
const ENDLESS_PIECES: usize = 128;

/// Builds the reaction to a request.
pub(super) fn reaction(
    protocol: Protocol,
    round: &Round,
    mint: &Mint,
    request: &RecordedRequest,
) -> Reaction {
    let context = RequestContext { mint, request };
    let reaction = match &round.fault {
        None => Reaction::Answer(packed(output_answer(protocol, round, &context), round)),
        Some(fault) => faulty_reaction(protocol, fault, round, &context),
    };
    match reaction {
        Reaction::Answer(answer) => Reaction::Answer(styled(answer, round)),
        Reaction::Silence | Reaction::Reset | Reaction::Close => reaction,
    }
}

/// The request and the ids for its answer.
struct RequestContext<'a> {
    mint: &'a Mint,
    request: &'a RecordedRequest,
}

fn faulty_reaction(
    protocol: Protocol,
    fault: &Fault,
    round: &Round,
    context: &RequestContext<'_>,
) -> Reaction {
    let (mint, request) = (context.mint, context.request);
    let good = || packed(output_answer(protocol, round, context), round);
    let answer = match fault {
        Fault::NoAnswer => return Reaction::Silence,
        Fault::ResetBeforeAnswer => return Reaction::Reset,
        Fault::CloseBeforeAnswer => return Reaction::Close,
        Fault::Status {
            code,
            headers,
            body,
        } => status(*code, headers, body),
        Fault::RateLimited { retry_after } => refuse::rate_limited(protocol, *retry_after),
        Fault::Quota { resets_in } => refuse::quota(protocol, *resets_in),
        Fault::ServerError => refuse::server_error(protocol),
        Fault::Unauthorized => refuse::unauthorized(protocol, request),
        Fault::ModelNotFound => refuse::model_not_found(protocol, request.model()),
        Fault::ContextTooLong { window } => too_long(protocol, *window, round, mint),
        Fault::OutputTooLong { limit } => refuse::output_too_long(protocol, request, *limit),
        Fault::UnknownPrevious => refuse::unknown_previous(protocol, request),
        Fault::FailedInAnswer => failed(protocol, round, context),
        Fault::ErrorInAnswer => broken_off(good(), failed(protocol, round, context)),
        Fault::TwoAnswers => {
            let another = Round::text("And another answer.");
            followed_by(good(), output_answer(protocol, &another, context))
        }
        Fault::ReversedEvents => reversed(good()),
        Fault::EndlessAnswer => Answer {
            ending: Ending::Stalled,
            ..good()
        },
        Fault::HtmlOk => html(),
        Fault::Redirect { to } => Answer::json(307, &json!({})).header("location", to),
        Fault::StallAfterHeaders => Answer {
            pieces: Vec::new(),
            ending: Ending::Stalled,
            ..good()
        },
        Fault::StallInBody => good().half(Ending::Stalled),
        Fault::ResetInBody => good().half(Ending::Reset),
        Fault::ShortBody => good().half(Ending::Cut),
        Fault::Drip { every } => dripping(good(), *every),
        Fault::TruncatedJson => truncated(output_answer(protocol, round, context)),
        Fault::HugeBody { bytes } => huge(output_answer(protocol, round, context), *bytes),
        Fault::GzipBomb => bomb(output_answer(protocol, round, context)),
        Fault::MissingTerminal
        | Fault::DuplicateCallIds
        | Fault::MissingCallIds
        | Fault::InvalidArguments
        | Fault::UnknownTool
        | Fault::OpenArguments
        | Fault::HugeEvent { .. } => good(),
    };
    Reaction::Answer(answer)
}

/// Builds the answer of a round, falsified if its fault is one of content.
fn output_answer(protocol: Protocol, round: &Round, context: &RequestContext<'_>) -> Answer {
    let mint = context.mint;
    let (spoken, ids) = model_output(round);
    let voice = Voice {
        spoken: &spoken,
        mint,
        ids,
    };
    let mut rendered = render::answer(protocol, form(round, context.request), &voice);
    match round.fault {
        Some(Fault::MissingTerminal | Fault::EndlessAnswer) => {
            rendered = rendered.without_end(protocol);
        }
        Some(Fault::OpenArguments) => rendered = rendered.without_closing(),
        Some(_) | None => {}
    }
    Answer::of(&rendered, round.style.lines)
}

/// The form of the answer: as the request asks, unless the server of this round never streams.
fn form(round: &Round, request: &RecordedRequest) -> Form {
    if request.body["stream"] == true && !round.style.never_streams {
        Form::Streamed
    } else {
        Form::Whole
    }
}

/// The output of a round, and the ids of its calls.
fn model_output(round: &Round) -> (ModelOutput, CallIds) {
    let mut spoken = round.spoken.clone();
    let is = |fault| round.fault == Some(fault);
    let call = |name: &str, arguments| Part::Call {
        name: name.to_owned(),
        arguments,
    };
    let mut ids = CallIds::Own;
    let mut calls = 0;
    if is(Fault::DuplicateCallIds) {
        (ids, calls) = (CallIds::Same, 2);
    }
    if is(Fault::MissingCallIds) {
        (ids, calls) = (CallIds::Missing, 1);
    }
    while spoken.calls() < calls {
        let harmless = Arguments::Json(json!({ "cmd": "true" }));
        spoken.parts.push(call("ExecCommand", harmless));
    }
    if is(Fault::InvalidArguments) || is(Fault::OpenArguments) {
        let broken = Arguments::Raw("{\"cmd\": \"tru".to_owned());
        spoken.parts.push(call("ExecCommand", broken));
    }
    if is(Fault::UnknownTool) {
        let nothing = Arguments::Json(json!({}));
        spoken.parts.push(call("NoSuchTool", nothing));
    }
    match round.fault {
        Some(Fault::HugeEvent { bytes }) => spoken.parts.push(Part::Text("x".repeat(bytes))),
        Some(Fault::EndlessAnswer) => {
            let piece = format!("{} ", "x".repeat(ENDLESS_PIECE));
            spoken.parts.push(Part::Text(piece.repeat(ENDLESS_PIECES)));
        }
        Some(_) | None => {}
    }
    // An empty answer would be another fault than the one requested.
    if spoken.parts.is_empty() {
        spoken
            .parts
            .push(Part::Text("Something to say.".to_owned()));
    }
    (spoken, ids)
}

/// An answer with a good status that reports a failure.
fn failed(protocol: Protocol, round: &Round, context: &RequestContext<'_>) -> Answer {
    let form = form(round, context.request);
    let (code, words) = ("server_error", "Something broke.");
    let failed = render::failed(protocol, form, context.mint, code, words);
    Answer::of(&failed, round.style.lines)
}

fn status(code: u16, headers: &[(String, String)], body: &str) -> Answer {
    let answer = Answer::whole(code, "application/json", body.as_bytes().to_vec());
    if headers.iter().any(|(name, _)| name == "content-type") {
        return Answer {
            headers: headers.to_vec(),
            ..answer
        };
    }
    headers
        .iter()
        .fold(answer, |answer, (name, value)| answer.header(name, value))
}

/// Codex reports it inside its stream, the others with a status.
fn too_long(protocol: Protocol, window: u32, round: &Round, mint: &Mint) -> Answer {
    match protocol {
        Protocol::Codex => {
            let words = refuse::too_long_words(protocol, window);
            let failed = render::failed(
                protocol,
                Form::Streamed,
                mint,
                "context_length_exceeded",
                &words,
            );
            Answer::of(&failed, round.style.lines)
        }
        Protocol::Responses | Protocol::Messages | Protocol::Chat => {
            refuse::context_too_long(protocol, window)
        }
    }
}

fn html() -> Answer {
    let page =
        "<!doctype html><html><head><title>Sign in</title></head><body>Sign in</body></html>";
    Answer::whole(200, "text/html; charset=utf-8", page.as_bytes().to_vec())
}

fn packed(answer: Answer, round: &Round) -> Answer {
    match round.style.packing {
        Packing::Plain => answer,
        Packing::Gzip => {
            let pieces = packing::gzip(&answer.bytes());
            answer
                .with_pieces(pieces.into_iter().map(Piece::Bytes).collect())
                .header("content-encoding", "gzip")
        }
    }
}

/// Applies the round's splitting, headers and connection handling.
fn styled(mut answer: Answer, round: &Round) -> Answer {
    if let Some(size) = round.style.split {
        let split = |piece: &Piece| -> Vec<Piece> {
            match piece {
                Piece::Bytes(bytes) => bytes
                    .chunks(size)
                    .map(|part| Piece::Bytes(part.to_vec()))
                    .collect(),
                Piece::Filler { .. } => vec![piece.clone()],
            }
        };
        answer.pieces = answer.pieces.iter().flat_map(split).collect();
    }
    answer.headers.extend(round.style.headers.clone());
    if round.style.connection == Connection::Closed && answer.ending == Ending::Kept {
        answer.ending = Ending::Closed;
    }
    answer
}

/// The reaction to a request for the models when the listing has a fault.
pub(super) fn listing_fault(fault: &Fault, mint: &Mint, request: &RecordedRequest) -> Reaction {
    let protocol = match request.header("anthropic-version") {
        Some(_) => Protocol::Messages,
        None => Protocol::Chat,
    };
    reaction(protocol, &Round::fault(fault.clone()), mint, request)
}
