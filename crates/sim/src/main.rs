//! The command: plays known bugs, then fresh seeds, and on a failure shrinks it, shows it and writes it down.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development command whose output is its purpose"
)]

use holon_sim::plan::Plan;
use holon_sim::{Coverage, Keep, known_bugs, play, shrink};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: holon-sim --seeds N [--from S] [--coverage] | --seed S [--trace]";

/// Where failing plans are written down.
const BUGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bugs/seeds.txt");

#[derive(Debug, Default)]
struct Wish {
    seeds: u64,
    from: u64,
    seed: Option<u64>,
    trace: bool,
    coverage: bool,
}

fn main() -> ExitCode {
    let Some(wish) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match wish.seed {
        Some(seed) => one(&Plan::of(seed), wish.trace),
        None => many(&wish),
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Wish> {
    let mut wish = Wish::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => wish.seeds = words.next()?.parse().ok()?,
            "--from" => wish.from = words.next()?.parse().ok()?,
            "--seed" => wish.seed = Some(words.next()?.parse().ok()?),
            "--trace" => wish.trace = true,
            "--coverage" => wish.coverage = true,
            _ => return None,
        }
    }
    (wish.seeds > 0 || wish.seed.is_some()).then_some(wish)
}

fn one(plan: &Plan, trace: bool) -> ExitCode {
    println!("{plan}");
    match play(plan, Keep::Lines) {
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
fn many(wish: &Wish) -> ExitCode {
    let began = Instant::now();
    let fresh = (wish.from..wish.from + wish.seeds).map(Plan::of);
    let (mut seeds, mut steps, mut crashes) = (0_u64, 0, 0);
    let mut coverage = Coverage::default();
    for plan in known_bugs().into_iter().chain(fresh) {
        let Ok(played) = play(&plan, Keep::Hash) else {
            return report(&plan);
        };
        // One in a hundred is played twice: a run that does not repeat itself cannot be trusted in anything.
        if seeds % 100 == 0
            && play(&plan, Keep::Hash).map(|again| again.hash).ok() != Some(played.hash)
        {
            println!("{plan}\nbroke: two runs of this plan differ");
            return ExitCode::FAILURE;
        }
        seeds += 1;
        steps += played.steps;
        crashes += played.crashes;
        coverage.add(&played.coverage);
    }
    if wish.coverage {
        print!("{coverage}");
    }
    let speed = seeds as f64 / began.elapsed().as_secs_f64();
    println!("{seeds} seeds, {steps} steps, crashes {crashes}, {speed:.0} seeds/s per core");
    ExitCode::SUCCESS
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
