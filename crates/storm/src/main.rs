//! `cargo xtask storm`: kills the real program at random moments, again and again on one home, and checks the result.
//!
//! Meanwhile clients send prompts, stop and start agents and request temporary runs, and the provider fails often.
//! After the last kill the provider answers every request, the host finishes its work and shuts down in order. Then a
//! reader that shares no code with the product checks the database, the marks that commands left, and the process
//! table. Each broken rule is one line, and the exit code is 1.
//!
//! With `--load`, many clients send prompts and follow events while the host is killed every few seconds; see [`load`].
#![allow(
    clippy::print_stdout,
    reason = "the figures and the findings go to stdout"
)]

mod arguments;
mod backup;
mod budget;
mod check;
mod clients;
mod delivery;
mod evidence;
mod failure_plan;
mod host;
mod job;
mod lasting;
mod load;
mod model;
mod plan;
mod process;
mod provider;
mod record;
mod report;
mod rest;
mod rows;
mod storm;
mod world;

use arguments::Arguments;
use clients::{ClientContext, HostState};
use host::Host;
use plan::Plan;
use provider::Models;
use record::{Recorder, Records};
use report::Report;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;
use storm::Storm;
use tempfile::TempDir;
use tokio::sync::watch;
use world::World;

/// A result whose error is shown to people and ends the storm.
type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let seed = arguments.seed;
    match arguments.load {
        None => println!("seed {seed}, {} kills", arguments.kills),
        Some(load) => println!(
            "seed {seed}, {} clients for {} s",
            load.clients, load.seconds
        ),
    }
    let dir = tempfile::Builder::new().prefix("holon-storm-").tempdir()?;
    let ran = match arguments.load {
        None => run(&arguments, dir.path()).await,
        Some(load) => load::run(&arguments, load.seconds, load.clients, dir.path()).await,
    };
    let violations = match ran {
        Ok(violations) => violations,
        Err(error) => vec![format!("the storm could not go on: {error}")],
    };
    for violation in &violations {
        println!("VIOLATION (seed {seed}) {violation}");
    }
    println!("violations  {}", violations.len());
    Ok(finish(dir, &violations, arguments.keep))
}

/// Removes the directory of a storm without violations, unless it is to be kept. Returns the exit code.
fn finish(dir: TempDir, violations: &[String], keep: bool) -> ExitCode {
    if keep || !violations.is_empty() {
        let kept: PathBuf = dir.keep();
        println!("the home is kept at {}", kept.join("home").display());
    }
    ExitCode::from(u8::from(!violations.is_empty()))
}

/// Runs one storm and returns every rule it broke.
async fn run(arguments: &Arguments, root: &Path) -> Fallible<Vec<String>> {
    let began = Instant::now();
    let plan = Plan::new(arguments.seed);
    let world = World::make(root, &arguments.program)?;
    let models = Models::start(plan, world.marks(), arguments.steady);
    world.configure(&models.base_url())?;
    let host = Host::start(&world, None).await?;
    let host = host.ok_or("a host that is not killed comes up")?;
    let agents = clients::all_agents(arguments.kills);
    clients::create_agents(&world, &agents).await?;
    delivery::add_target(&world).await?;
    budget::set_first(&world.client(), &agents).await?;
    let context = Arc::new(ClientContext {
        world,
        plan,
        recorder: Recorder::new(),
        host_state: watch::Sender::new(HostState::Down),
        kills_done: AtomicU64::new(0),
    });
    let workers = clients::spawn_all(&context);
    let mut storm = Storm::new(&context, arguments.kills);
    let host = storm.run(host).await?;
    let failures_ended = Instant::now();
    context.host_state.send_replace(HostState::Finished);
    models.stop_failing();
    workers.join_all().await;
    let client = context.world.client();
    budget::lift(&client, &agents).await?;
    rest::start_agents(&client, &agents).await?;
    let unfinished = rest::wait_until_at_rest(&context.world, &agents).await?;
    let until_rest = failures_ended.elapsed();
    let reported = rest::gather(&client, &agents).await?;
    let status = host.terminate().await?;
    let records = context.recorder.copy();
    let evidence =
        evidence::collect(&context.world, &records, reported, models.failure_counts()).await?;
    let report = Report {
        counts: &storm.counts,
        records: &records,
        evidence: &evidence,
        lasted: began.elapsed(),
        until_rest,
    };
    for line in report.lines() {
        println!("{line}");
    }
    std::fs::write(context.world.diary(), context.recorder.diary())?;
    let mut violations = check::violations(&evidence);
    violations.extend(unfinished);
    if !status.success() {
        violations.push(format!("the host went down with {status}"));
    }
    violations.extend(other_violations(&records, &models, &context.world)?);
    let (last, provider) = (records.last_backup.as_ref(), models.base_url());
    violations.extend(backup::check(&context.world, last, &provider, &agents).await?);
    Ok(violations)
}

/// Violations outside the stored state: unexpected answers, invalid model requests, and errors in the host's log.
fn other_violations(records: &Records, models: &Models, world: &World) -> Fallible<Vec<String>> {
    let answers = records.unexpected.iter().cloned();
    let requests = models.violations().into_iter();
    let requests = requests.map(|text| format!("to the model: {text}"));
    let faults = evidence::faults_in_log(world)?;
    Ok(answers.chain(requests).chain(faults).collect())
}
