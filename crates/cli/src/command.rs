//! The commands, one file each, and their dispatch.

mod agent;
mod agent_model;
mod agent_tree;
mod archive;
mod backup;
mod budget;
pub(crate) mod config;
mod context;
mod daemon;
mod debug;
mod delivery;
mod demo;
mod doctor;
mod events;
mod explain_error;
mod images;
pub(crate) mod init;
mod latency;
mod man_pages;
mod memory;
mod prompt;
mod run;
mod serve;
mod service;
mod skills;
mod solve;
mod storage;
mod suggestion;
mod tail;
mod task;
mod template;
mod text;
mod token;
mod trigger;
mod tui;
mod usage;
mod view;
mod waiting;
mod work;
mod workspace;

pub(crate) use daemon::view as daemon_view;
pub(crate) use doctor::{Examination, Finding, Level};
pub(crate) use service::view as service_view;

use crate::addressing::{self, HostOptions};
use crate::args::{Args, Command};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::target::Target;
use clap::CommandFactory as _;
use std::future::Future;
use std::path::{Path, PathBuf};

/// Runs the command of the command line.
pub(crate) fn run(args: Args, output: &Output) -> Result<Exit, Failure> {
    let home = args.home;
    let target = match args.command.local_name() {
        Some(name) => {
            refuse_remote(name, args.connect.as_deref())?;
            if args.token_file.is_some() && !args.command.takes_token_file() {
                return Err(refuse_token_file(name));
            }
            Target::Home(home.clone())
        }
        None => Target::of(
            home.clone(),
            args.connect,
            args.token_file.as_deref(),
            output,
        )?,
    };
    match (&target, &args.token_file, &home) {
        (Target::Remote(remote), Some(file), _) => {
            addressing::set_host(HostOptions::of_url(&remote.url, file));
        }
        (Target::Home(_), _, Some(home)) => addressing::set_host(HostOptions::of_home(home)),
        (Target::Remote(_), None, _) | (Target::Home(_), _, None) => {}
    }
    let failed_at = target.clone();
    let done = dispatch(
        args.command,
        home,
        target,
        args.token_file.as_deref(),
        output,
    );
    done.map_err(|failure| suggestion::add(&failed_at, failure))
}

fn dispatch(
    command: Command,
    home: Option<PathBuf>,
    target: Target,
    token_file: Option<&Path>,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        Command::Init(init) => block_on(init::run(home, init, output)),
        Command::Serve(serve) => serve::run(home, serve, output),
        Command::Daemon { command } => block_on(daemon::run(home, command, output)),
        Command::Service { command } => block_on(service::run(home, command, output)),
        Command::Solve(args) => solve::run(home, &args, output),
        Command::Template { command } => template::run(home, command, output),
        Command::Config { command } => block_on(config::run(home, command, output)),
        Command::Backup { file } => backup::back_up(home, &file, output),
        Command::Restore { file } => backup::restore(home, &file, output),
        Command::ExplainError { code } => explain_error::run(code.as_deref(), output),
        Command::Doctor { probe } => block_on(doctor::run(home, probe, output)),
        Command::Demo(demo) => block_on(demo::run(demo, output)),
        Command::Run(args) => run::run(target, args, output),
        Command::Prompt(prompt) => block_on(prompt::run(target, prompt, output)),
        Command::Status(agent) => block_on(view::status(target, agent.agent, output)),
        Command::Tail(tail) => block_on(tail::run(target, tail, output)),
        Command::Tui(tui) => block_on(tui::run(home, target, token_file, tui, output)),
        Command::Events(events) => block_on(events::run(target, events, output)),
        Command::Transcript(transcript) => block_on(view::transcript(target, transcript, output)),
        Command::Work { command } => block_on(work::run(target, command, output)),
        Command::Task { command } => block_on(task::run(target, command, output)),
        Command::Wait { command } => block_on(waiting::wait(target, command, output)),
        Command::Timer { command } => block_on(waiting::timer(target, command, output)),
        Command::Workspace { command } => block_on(workspace::run(target, command, output)),
        Command::Worktree { command } => block_on(workspace::worktree(target, command, output)),
        Command::Wake(wake) => block_on(waiting::wake(target, wake, output)),
        Command::Explain { agent } => block_on(waiting::explain(target, agent.id(), output)),
        Command::Control { action, agent } => {
            let command = agent::of_control(action, agent.agent);
            block_on(agent::run(target, command, output))
        }
        Command::Debug { command } => block_on(debug::run(target, command, output)),
        Command::Context { command } => block_on(context::run(target, command, output)),
        Command::Agent { command } => block_on(agent::run(target, command, output)),
        Command::Memory { command } => block_on(memory::run(target, command, output)),
        Command::Skills { command } => block_on(skills::run(target, command, output)),
        Command::Delivery { command } => block_on(delivery::run(target, command, output)),
        Command::Budget { command } => block_on(budget::run(target, command, output)),
        Command::Storage { command } => block_on(storage::run(target, command, output)),
        Command::Usage(args) => block_on(usage::run(target, args, output)),
        Command::Binding { command } => block_on(delivery::binding(target, command, output)),
        Command::Trigger { command } => block_on(trigger::run(target, command, output)),
        Command::Webhook { command } => block_on(trigger::webhook(target, command, output)),
        Command::Token { command } => block_on(token::run(target, command, output)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "holon", &mut script);
            output.say_as_written(&String::from_utf8_lossy(&script));
            Ok(Exit::Done)
        }
        Command::ManPages { directory } => man_pages::run(&directory, output),
    }
}

/// A command that works on this machine only is refused for another host, and not run here instead.
fn refuse_remote(name: &str, connect: Option<&str>) -> Result<(), Failure> {
    match connect {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!(
            "holon {name} works on this machine only; leave out --connect"
        ))
        .hint(format!("run holon {name} on the machine of that host"))),
    }
}

/// Refuses a token file for a command that sends no token.
fn refuse_token_file(name: &str) -> Failure {
    Failure::usage(format!(
        "holon {name} works on this machine and sends no token; leave out --token-file"
    ))
    .hint("commands that talk to a host take --token-file with --connect URL; serve, daemon start, daemon restart and service install take it for the host's own token")
}

/// Runs a command to its end. Work that it leaves on other threads is not awaited, because the result is complete.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = holon_daemon::run_runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
