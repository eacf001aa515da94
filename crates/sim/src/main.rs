//! The program: plays known bugs, then fresh seeds. It shrinks a failing plan, prints it and writes it to `bugs/`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development command whose output is its purpose"
)]

use holon_sim::plan::Plan;
use holon_sim::{Coverage, TraceDetail, known_bugs, play, play_week, shrink};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const USAGE: &str = "\
usage: holon-sim --seeds N [--from S] [--coverage]
       holon-sim --seed S [--trace]
       holon-sim --planted N [--only WORDS]
       holon-sim --week";

/// File to which failing plans are appended.
const BUGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bugs/seeds.txt");

#[derive(Debug, Default)]
struct Arguments {
    seeds: u64,
    from: u64,
    seed: Option<u64>,
    trace: bool,
    coverage: bool,
    week: bool,
    /// Seeds to play with each planted fault.
    planted: Option<u64>,
    /// Words in the description of the faults to plant; all without any.
    only: String,
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if let Some(seeds) = arguments.planted {
        return play_planted(seeds, &arguments.only);
    }
    if arguments.week {
        return show_week();
    }
    match arguments.seed {
        Some(seed) => play_one(&Plan::of(seed), arguments.trace),
        None => play_many(&arguments),
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => arguments.seeds = words.next()?.parse().ok()?,
            "--from" => arguments.from = words.next()?.parse().ok()?,
            "--seed" => arguments.seed = Some(words.next()?.parse().ok()?),
            "--trace" => arguments.trace = true,
            "--coverage" => arguments.coverage = true,
            "--week" => arguments.week = true,
            "--planted" => arguments.planted = Some(words.next()?.parse().ok()?),
            "--only" => arguments.only = words.next()?,
            _ => return None,
        }
    }
    let plays = arguments.seeds > 0
        || arguments.seed.is_some()
        || arguments.planted.is_some()
        || arguments.week;
    plays.then_some(arguments)
}

/// Plays the week and prints every fire.
fn show_week() -> ExitCode {
    match play_week() {
        Ok(timers) => {
            for timer in timers {
                let (fired, missed) = (timer.fire_count, timer.missed_count);
                println!("{}: {fired} fired, {missed} missed", timer.expression);
                timer.fires.iter().for_each(|fire| println!("  {fire}"));
            }
            ExitCode::SUCCESS
        }
        Err(broken) => {
            println!("broke: {broken}");
            ExitCode::FAILURE
        }
    }
}

fn play_one(plan: &Plan, trace: bool) -> ExitCode {
    println!("{plan}");
    match play(plan, TraceDetail::Lines) {
        Ok(played) => {
            println!("held: {} steps, {} crashes", played.steps, played.crashes);
            ExitCode::SUCCESS
        }
        Err(broken) => {
            if trace {
                broken.trace.iter().for_each(|line| println!("{line}"));
            }
            println!("broke at step {}: {}", broken.step, broken.violation);
            ExitCode::FAILURE
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the speed of the simulation is measured, nothing in it depends on it"
)]
fn play_many(arguments: &Arguments) -> ExitCode {
    let began = Instant::now();
    let mut plans = known_bugs();
    plans.extend((arguments.from..arguments.from + arguments.seeds).map(Plan::of));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let shares: Vec<Result<Totals, Failure>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| play_next(&plans, &next)))
            .collect();
        let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .map(|share| share.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut totals = Totals::default();
    for share in shares {
        match share {
            Ok(share) => totals.add(&share),
            Err(Failure::Broke(plan)) => return report(&plan),
            Err(Failure::Differed(plan)) => {
                println!("{plan}\nbroke: two runs of this plan differ");
                return ExitCode::FAILURE;
            }
        }
    }
    if arguments.coverage {
        print!("{}", totals.coverage);
    }
    let speed = totals.seeds as f64 / began.elapsed().as_secs_f64();
    println!(
        "{} seeds, {} steps, crashes {}, {speed:.0} seeds/s on {workers} threads",
        totals.seeds, totals.steps, totals.crashes
    );
    ExitCode::SUCCESS
}

/// Prints a table of the planted faults, with the rule that caught each and the seeds it took.
#[cfg(feature = "planted")]
fn play_planted(seeds: u64, only: &str) -> ExitCode {
    let (mut all, mut missed) = (0, 0);
    println!("| planted fault | rule that broke | seeds |\n|---|---|---|");
    holon_sim::planted::play_planted(seeds, only, |result| {
        all += 1;
        match &result.caught {
            Some((rule, seeds)) => println!("| {} | {rule} | {seeds} |", result.fault),
            None => {
                missed += 1;
                println!("| {} | none | - |", result.fault);
            }
        }
    });
    println!(
        "\n{} of {all} faults caught within {seeds} seeds",
        all - missed
    );
    ExitCode::from(u8::from(missed > MISSED_AT_MOST))
}

/// Planted faults that may stay unnoticed.
#[cfg(feature = "planted")]
const MISSED_AT_MOST: u64 = 2;

#[cfg(not(feature = "planted"))]
fn play_planted(_seeds: u64, _only: &str) -> ExitCode {
    eprintln!("this build has no planted faults; build it with --features planted");
    ExitCode::from(2)
}

/// The plan that ended a run of many.
enum Failure {
    Broke(Plan),
    Differed(Plan),
}

/// Sums over the plans that held.
#[derive(Default)]
struct Totals {
    seeds: u64,
    steps: u64,
    crashes: u64,
    coverage: Coverage,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.crashes += other.crashes;
        self.coverage.add(&other.coverage);
    }
}

/// Plays plans that no other thread has taken, until none is left or one breaks a rule.
fn play_next(plans: &[Plan], next: &AtomicUsize) -> Result<Totals, Failure> {
    let mut totals = Totals::default();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(plan) = plans.get(index) else {
            return Ok(totals);
        };
        let stop = |failure| {
            next.store(plans.len(), Ordering::Relaxed);
            failure
        };
        let Ok(played) = play(plan, TraceDetail::Hash) else {
            return Err(stop(Failure::Broke(plan.clone())));
        };
        // One in a hundred is played twice: a run that does not repeat itself cannot be trusted in anything.
        if index.is_multiple_of(100)
            && play(plan, TraceDetail::Hash).map(|again| again.hash).ok() != Some(played.hash)
        {
            return Err(stop(Failure::Differed(plan.clone())));
        }
        totals.seeds += 1;
        totals.steps += played.steps;
        totals.crashes += played.crashes;
        totals.coverage.add(&played.coverage);
    }
}

fn report(plan: &Plan) -> ExitCode {
    println!("broke: {plan}");
    let Some((small, broken)) = shrink::shrink(plan) else {
        println!("broke once and held when played again: the run does not repeat itself");
        return ExitCode::FAILURE;
    };
    broken.trace.iter().for_each(|line| println!("  {line}"));
    println!("shrunk: {small}");
    println!("broke at step {}: {}", broken.step, broken.violation);
    write_down(&small, &broken.violation.rule);
    ExitCode::FAILURE
}

fn write_down(plan: &Plan, rule: &str) {
    let written = std::fs::read_to_string(BUGS).unwrap_or_default();
    if written.contains(&plan.to_string()) {
        return;
    }
    let file = std::fs::OpenOptions::new().append(true).open(BUGS);
    match file.and_then(|mut file| writeln!(file, "{plan} # {rule}")) {
        Ok(()) => println!("written down in bugs/seeds.txt"),
        Err(error) => println!("could not be written down: {error}"),
    }
}
