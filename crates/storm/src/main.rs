//! `cargo xtask storm`: kills the real program at random moments, over and over on one home, and checks what is left.
//!
//! Clients send prompts, stop and start agents and ask for temporary runs all the while, and the provider fails often.
//! When the last kill is done the provider is well again, the host works off what is left and goes down in order, and a
//! reader that shares no code with the product looks at the database, the marks that commands left and the process
//! table. A broken rule is one line, and the exit code is 1.
#![allow(
    clippy::print_stdout,
    reason = "the figures and the findings go to stdout"
)]

mod arguments;
mod check;
mod clients;
mod evidence;
mod flaky;
mod host;
mod job;
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
use clients::{Crew, Weather};
use host::Host;
use plan::Plan;
use provider::Models;
use record::{Book, Records};
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

/// A result whose error is told to people and ends the storm.
type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let seed = arguments.seed;
    println!("seed {seed}, {} kills", arguments.kills);
    let dir = tempfile::Builder::new().prefix("holon-storm-").tempdir()?;
    let violations = match run(&arguments, dir.path()).await {
        Ok(violations) => violations,
        Err(error) => vec![format!("the storm could not go on: {error}")],
    };
    for violation in &violations {
        println!("VIOLATION (seed {seed}) {violation}");
    }
    println!("violations  {}", violations.len());
    Ok(leave(dir, &violations, arguments.keep))
}

/// Removes the directory of a storm that broke nothing, unless it is wanted.
fn leave(dir: TempDir, violations: &[String], keep: bool) -> ExitCode {
    if keep || !violations.is_empty() {
        let kept: PathBuf = dir.keep();
        println!("the home is kept at {}", kept.join("home").display());
    }
    ExitCode::from(u8::from(!violations.is_empty()))
}

/// One whole storm; returns every rule it broke.
async fn run(arguments: &Arguments, root: &Path) -> Fallible<Vec<String>> {
    let began = Instant::now();
    let plan = Plan::new(arguments.seed);
    let world = World::make(root, &arguments.program)?;
    let models = Models::start(plan, world.marks(), arguments.steady);
    world.configure(&models.base_url())?;
    let host = Host::start(&world, None).await?;
    let host = host.ok_or("a host that nobody kills comes up")?;
    let agents = clients::all_agents(arguments.kills);
    clients::create_agents(&world, &agents).await?;
    let crew = Arc::new(Crew {
        world,
        plan,
        book: Book::new(),
        weather: watch::Sender::new(Weather::Down),
        kills_done: AtomicU64::new(0),
    });
    let workers = clients::spawn_all(&crew);
    let mut storm = Storm::new(&crew, arguments.kills);
    let host = storm.rage(host).await?;
    let calm_since = Instant::now();
    crew.weather.send_replace(Weather::Over);
    models.calm_down();
    workers.join_all().await;
    let client = crew.world.client();
    rest::start_agents(&client, &agents).await?;
    let unrest = rest::settle(&crew.world, &agents).await?;
    let until_rest = calm_since.elapsed();
    let told = rest::gather(&client, &agents).await?;
    let status = host.terminate().await?;
    let records = crew.book.copy();
    let evidence = evidence::collect(&crew.world, &records, told, models.failed()).await?;
    let report = Report {
        damage: &storm.damage,
        records: &records,
        evidence: &evidence,
        lasted: began.elapsed(),
        until_rest,
    };
    for line in report.lines() {
        println!("{line}");
    }
    std::fs::write(crew.world.diary(), crew.book.diary())?;
    let mut violations = check::violations(&evidence);
    violations.extend(unrest);
    if !status.success() {
        violations.push(format!("the host went down with {status}"));
    }
    violations.extend(beside(&records, &models, &crew.world)?);
    Ok(violations)
}

/// What was wrong beside the state that is left: answers, requests to the model, and the host's own log.
fn beside(records: &Records, models: &Models, world: &World) -> Fallible<Vec<String>> {
    let answers = records.unexpected.iter().cloned();
    let requests = models.violations().into_iter();
    let requests = requests.map(|words| format!("to the model: {words}"));
    let faults = evidence::faults_in_log(world)?;
    Ok(answers.chain(requests).chain(faults).collect())
}
