//! The commands, one file each, and their dispatch.

mod agent;
mod agent_model;
mod archive;
pub(crate) mod config;
mod daemon;
mod debug;
mod demo;
mod events;
pub(crate) mod init;
mod prompt;
mod run;
mod serve;
mod service;
mod skills;
mod solve;
mod tail;
mod task;
mod template;
mod text;
mod token;
mod tui;
mod view;
mod waiting;
mod work;
mod workspace;

pub(crate) use daemon::view as daemon_view;
pub(crate) use service::view as service_view;

use crate::args::{Args, Command};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::CommandFactory as _;
use std::future::Future;

/// Runs the command of the command line.
pub(crate) fn run(args: Args, output: &Output) -> Result<Exit, Failure> {
    let home = args.home;
    match args.command {
        Command::Init(init) => block_on(init::run(home, init, output)),
        Command::Serve(serve) => serve::run(home, serve, output),
        Command::Daemon { command } => block_on(daemon::run(home, command, output)),
        Command::Service { command } => block_on(service::run(home, command, output)),
        Command::Run(args) => run::run(home, args, output),
        Command::Solve(args) => solve::run(home, &args, output),
        Command::Prompt(prompt) => block_on(prompt::run(home, prompt, output)),
        Command::Status(agent) => block_on(view::status(home, agent.agent, output)),
        Command::Tail(tail) => block_on(tail::run(home, tail, output)),
        Command::Tui(tui) => block_on(tui::run(home, tui, output)),
        Command::Events(events) => block_on(events::run(home, events, output)),
        Command::Transcript(transcript) => block_on(view::transcript(home, transcript, output)),
        Command::Work { command } => block_on(work::run(home, command, output)),
        Command::Task { command } => block_on(task::run(home, command, output)),
        Command::Wait { command } => block_on(waiting::wait(home, command, output)),
        Command::Timer { command } => block_on(waiting::timer(home, command, output)),
        Command::Workspace { command } => block_on(workspace::run(home, command, output)),
        Command::Worktree { command } => block_on(workspace::worktree(home, command, output)),
        Command::Wake(wake) => block_on(waiting::wake(home, wake, output)),
        Command::Explain { agent } => block_on(waiting::explain(home, agent, output)),
        Command::Debug { command } => block_on(debug::run(home, command, output)),
        Command::Agent { command } => block_on(agent::run(home, command, output)),
        Command::Template { command } => template::run(home, command, output),
        Command::Skills { command } => block_on(skills::run(home, command, output)),
        Command::Token { command } => block_on(token::run(home, command, output)),
        Command::Config { command } => block_on(config::run(home, command, output)),
        Command::Demo(demo) => block_on(demo::run(demo, output)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "holon", &mut script);
            output.say_as_written(&String::from_utf8_lossy(&script));
            Ok(Exit::Done)
        }
    }
}

/// Runs a command to its end. Work that it leaves on other threads is not awaited, because the result is complete.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = holon_daemon::run_runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
