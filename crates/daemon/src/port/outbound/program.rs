//! Delivers by a program: the text is on its standard input and in its environment, and exit status 0 means accepted.

use super::SHOWN_BYTES;
use super::attached::Parcel;
use super::content::{title, words};
use crate::port::shell_words;
use holon_domain::command::{CommandEnd, CommandOutput};
use holon_domain::delivery::SubmitResult;
use holon_domain::limits::DELIVERY_ATTEMPT_MS;
use holon_domain::text;
use holon_engine::ports::SubmitReport;
use holon_process::CommandSpec;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Most bytes kept of each stream.
const CAPTURE_BYTES: usize = 4 << 10;

/// Runs a program with a delivery.
pub(super) async fn run(argv: &[String], parcel: &Parcel<'_>) -> SubmitReport {
    let env = environment(parcel);
    let sent = describe(argv, &env, &words(parcel));
    let spec = CommandSpec {
        cmd: shell_words(argv),
        shell: None,
        login: false,
        // A fixed directory, so that relative names do not depend on how the host was started.
        cwd: PathBuf::from("/"),
        env,
        remove_env: holon_config::SECRET_VARIABLES
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        timeout_ms: DELIVERY_ATTEMPT_MS,
        capture_bytes: CAPTURE_BYTES,
    };
    let input = format!("{}\n", words(parcel));
    let ran = holon_process::run_with_input(spec, input.as_bytes(), CancellationToken::new()).await;
    let (result, received) = match ran {
        Ok(output) => judge(&output),
        Err(failure) => (Err(failure.to_string()), String::new()),
    };
    SubmitReport {
        result: match result {
            Ok(()) => SubmitResult::Accepted {
                transport_delivery_id: None,
            },
            Err(error) => SubmitResult::Retry {
                error,
                retry_after_ms: None,
            },
        },
        sent,
        received,
    }
}

fn environment(parcel: &Parcel<'_>) -> Vec<(String, String)> {
    let delivery = parcel.delivery;
    let record = &delivery.record;
    let spelled = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    [
        ("HOLON_DELIVERY_ID", record.id.to_string()),
        ("HOLON_DELIVERY_AGENT", delivery.agent_id.to_string()),
        ("HOLON_DELIVERY_TITLE", title(delivery)),
        ("HOLON_DELIVERY_TEXT", words(parcel).replace('\0', "")),
        (
            "HOLON_DELIVERY_TRIGGER",
            spelled(serde_json::json!(record.trigger)),
        ),
        (
            "HOLON_DELIVERY_VISIBILITY",
            record.visibility.as_str().to_owned(),
        ),
        ("HOLON_DELIVERY_ATTEMPT", delivery.attempt.to_string()),
        ("HOLON_DELIVERY_ATTACHMENTS", parcel.json()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn describe(argv: &[String], env: &[(String, String)], input: &str) -> String {
    let mut lines = vec![argv.join(" ")];
    let short = |value: &String| text::preview(value, 80);
    lines.extend(
        env.iter()
            .map(|(name, value)| format!("{name}={}", short(value))),
    );
    lines.push(String::new());
    lines.push(input.to_owned());
    lines.join("\n")
}

/// Returns the result of a run, and what it printed.
fn judge(output: &CommandOutput) -> (Result<(), String>, String) {
    let printed = format!("{}{}", output.stdout.head, output.stderr.head);
    let printed = text::preview(printed.trim(), SHOWN_BYTES);
    let ended = match output.end {
        CommandEnd::Exited { status: 0 } => {
            return (
                Ok(()),
                format!("exit status 0 {printed}").trim_end().to_owned(),
            );
        }
        CommandEnd::Exited { status } => format!("the program ended with exit status {status}"),
        CommandEnd::Signalled { signal } => format!("the program was ended by signal {signal}"),
        CommandEnd::TimedOut => {
            format!(
                "the program did not end within {} s",
                DELIVERY_ATTEMPT_MS / 1_000
            )
        }
    };
    let error = match printed.is_empty() {
        true => ended.clone(),
        false => format!("{ended}: {printed}"),
    };
    (
        Err(error),
        format!("{ended} {printed}").trim_end().to_owned(),
    )
}
