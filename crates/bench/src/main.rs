//! `cargo xtask bench`: what the runtime costs, as JSON on stdout.
//!
//! Baseline and subject alternate in one run, and the baseline is the bare thing: the very rows the runtime writes, a
//! spawn of the same shell. Figures of two runs on a shared machine are not comparable; ratios inside one run are. Never
//! part of a test.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures go to stdout, progress to stderr"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures"
)]

mod admission;
mod backlog;
mod backup;
mod bare;
mod budgets;
mod callbacks;
mod command;
mod console;
mod delegation;
mod delta;
mod disk;
mod guidance;
mod large_home;
mod load;
mod memory;
mod memory_search;
mod output;
mod patch;
mod program;
mod prompt;
mod recall;
mod retention;
mod round;
mod schedule;
mod served;
mod shim;
mod stats;
mod tasks;
mod thread;
mod timers;
mod wake;
mod wire;
mod workspace;
mod world;

use admission::Spread;
use holon_testkit::ports::FixedModel;
use serde_json::{Map, Value};
use std::error::Error;
use std::path::PathBuf;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let holon = PathBuf::from(
        arguments
            .next()
            .ok_or("usage: holon-bench PATH_OF_HOLON [ROW...]")?,
    );
    let wanted: Vec<String> = arguments.collect();
    let mut report = Map::new();
    for row in ROWS {
        if wanted.is_empty() || wanted.iter().any(|name| row.contains(name.as_str())) {
            eprintln!("measuring {row}");
            report.insert(
                (*row).to_owned(),
                Box::pin(measure(row, &holon))
                    .await
                    .map_err(|error| format!("{row}: {error}"))?,
            );
        }
    }
    println!("{}", serde_json::to_string_pretty(&Value::Object(report))?);
    Ok(())
}

const ROWS: &[&str] = &[
    "admission_1_caller",
    "admission_16_callers",
    "admission_64_callers",
    "admission_16_callers_an_agent_each",
    "admission_64_callers_an_agent_each",
    "http_admission_1_client",
    "http_admission_8_clients",
    "http_admission_16_clients",
    "http_admission_64_clients",
    "http_admission_256_clients",
    "turn_without_tools",
    "turn_with_one_tool",
    "model_round_5_kb",
    "model_round_500_kb",
    "model_round_10_and_200",
    "first_delta",
    "patch_50000_lines",
    "guidance_reread",
    "memory_search_100000_documents",
    "memory_recall",
    "use_workspace_isolated_20000_files",
    "spawn_in_worktree_20000_files",
    "children_200",
    "reservation",
    "message_100_and_10000",
    "prompt_assembly",
    "thread_2000_tokens",
    "thread_16000_tokens",
    "thread_64000_tokens",
    "thread_memory_64000_tokens",
    "idle_agents_1",
    "idle_agents_10000",
    "disk_per_message",
    "retention_5000_messages",
    "backup_1gb",
    "memory_after_5000_messages",
    "one_shot_run",
    "cli_start",
    "event_to_32_subscribers",
    "event_to_200_subscribers",
    "restart_1000_agents_100000_messages",
    "fresh_home",
    "command",
    "command_output",
    "tasks",
    "commit_under_load",
    "schedule_decision",
    "budget_check",
    "timers_10000",
    "due_beside_noisy_neighbour",
    "timer_lateness",
    "wake_to_first_byte",
    "callback_to_first_byte",
    "callback_ten_in_a_row",
    "wakes_10000_of_100_agents",
    "signed_webhooks_64_senders",
    "callback_guesses",
    "console_frame_10000_rows",
    "console_memory_100000_events",
];

async fn measure(
    row: &str,
    holon: &std::path::Path,
) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let plain =
        |result: Result<Value, Box<dyn Error>>| result.map_err(|error| error.to_string().into());
    match row {
        "admission_1_caller" => plain(admission::admission(1, 500, Spread::OneAgent).await),
        "admission_16_callers" => plain(admission::admission(16, 1_600, Spread::OneAgent).await),
        "admission_64_callers" => plain(admission::admission(64, 6_400, Spread::OneAgent).await),
        "admission_16_callers_an_agent_each" => {
            plain(admission::admission(16, 1_600, Spread::AgentEach).await)
        }
        "admission_64_callers_an_agent_each" => {
            plain(admission::admission(64, 6_400, Spread::AgentEach).await)
        }
        "http_admission_1_client" => served::http_admission(holon, 1, 500).await,
        "http_admission_8_clients" => served::http_admission(holon, 8, 1_600).await,
        "http_admission_16_clients" => served::http_admission(holon, 16, 1_600).await,
        "http_admission_64_clients" => served::http_admission(holon, 64, 3_200).await,
        "http_admission_256_clients" => served::http_admission(holon, 256, 5_120).await,
        "turn_without_tools" => plain(admission::turns(FixedModel::Text, 100).await),
        "turn_with_one_tool" => plain(admission::turns(FixedModel::OneTool, 100).await),
        "model_round_5_kb" => plain(round::overhead(5 << 10).await),
        "model_round_500_kb" => plain(round::overhead(500 << 10).await),
        "model_round_10_and_200" => plain(round::late(210).await),
        "first_delta" => delta::first(holon, 200).await,
        "patch_50000_lines" => plain(patch::large_file(50_000)),
        "guidance_reread" => plain(guidance::reread()),
        "memory_search_100000_documents" => plain(memory_search::history(100_000)),
        "memory_recall" => Ok(recall::labelled()),
        "use_workspace_isolated_20000_files" => plain(workspace::isolated(20_000, 8)),
        "spawn_in_worktree_20000_files" => plain(delegation::spawn_in_worktree(20_000, 8).await),
        "children_200" => plain(delegation::children(200).await),
        "reservation" => plain(delegation::reservation(100).await),
        "message_100_and_10000" => plain(admission::history(10_000).await),
        "console_frame_10000_rows" => plain(console::frame(10_000)),
        "console_memory_100000_events" => console::memory_after(100_000),
        "prompt_assembly" => plain(prompt::assembly(10_000).await),
        "thread_2000_tokens" => plain(thread::turns(2_000).await),
        "thread_16000_tokens" => plain(thread::turns(16_000).await),
        "thread_64000_tokens" => plain(thread::turns(64_000).await),
        "thread_memory_64000_tokens" => thread::memory(holon, 64_000).await,
        "idle_agents_1" => served::idle_agents(holon, 1, 15).await,
        "idle_agents_10000" => served::idle_agents(holon, 10_000, 15).await,
        "disk_per_message" => plain(disk::per_message(2_000).await),
        "retention_5000_messages" => plain(retention::history(5_000).await),
        "backup_1gb" => backup::running(holon, 1 << 30).await,
        "memory_after_5000_messages" => memory::after_messages(holon, 5_000).await,
        "one_shot_run" => served::one_shot(holon, 30),
        "cli_start" => served::cli_start(holon, 100).await,
        "event_to_32_subscribers" => served::subscribers(holon, 32, 200).await,
        "event_to_200_subscribers" => served::subscribers(holon, 200, 100).await,
        "restart_1000_agents_100000_messages" => large_home::restart(holon, 1_000, 100, 10).await,
        "fresh_home" => large_home::fresh(holon, 30).await,
        "command" => plain(command::added(holon).await),
        "command_output" => output::floods(holon).await,
        "tasks" => tasks::fleets(holon, 100).await,
        "commit_under_load" => plain(Box::pin(load::commits(holon)).await),
        "schedule_decision" => schedule::decisions(),
        "budget_check" => budgets::checks(),
        "timers_10000" => timers::pending(holon, 10_000).await,
        "timer_lateness" => timers::lateness(holon).await,
        "due_beside_noisy_neighbour" => timers::beside_noisy(holon, 4_000).await,
        "wake_to_first_byte" => plain(wake::to_first_byte().await),
        "callback_to_first_byte" => callbacks::to_first_byte(holon, 200).await,
        "callback_ten_in_a_row" => callbacks::ten_in_a_row(holon, 3).await,
        "wakes_10000_of_100_agents" => callbacks::wakes(holon, 100, 100).await,
        "signed_webhooks_64_senders" => callbacks::webhooks(holon, 64, 640).await,
        "callback_guesses" => callbacks::guesses(holon, 120).await,
        other => Err(format!("no such row: {other}").into()),
    }
}
