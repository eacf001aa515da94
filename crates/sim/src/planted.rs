//! Plants each deliberate mistake of `core` in turn and counts the seeds until a rule breaks.

use crate::plan::Plan;
use crate::run::play;
use crate::trace::TraceDetail;
use holon_core::planted::{PlantedFault, plant};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The result of playing seeds with one planted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedResult {
    /// The mistake in words.
    pub fault: &'static str,
    /// The rule that broke first and the number of seeds up to it; `None` if every seed held.
    pub caught: Option<(String, u64)>,
}

/// Plays seeds in order with every fault whose description contains `filter`, on all threads, each up to `seeds` or
/// the first broken rule. Tells each result as soon as it is known.
pub fn play_planted(seeds: u64, filter: &str, mut tell: impl FnMut(&PlantedResult)) {
    for fault in PlantedFault::all().filter(|fault| fault.as_str().contains(filter)) {
        let result = PlantedResult {
            fault: fault.as_str(),
            caught: first_broken(fault, seeds),
        };
        tell(&result);
    }
}

/// Returns the broken rule of the smallest seed that breaks one, and the number of seeds up to it.
fn first_broken(fault: PlantedFault, seeds: u64) -> Option<(String, u64)> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let broken = Mutex::new(None::<(u64, String)>);
    let play_next = || {
        plant(Some(fault));
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                break;
            }
            let Err(failure) = play(&Plan::of(seed), TraceDetail::Hash) else {
                continue;
            };
            stop.store(true, Ordering::Relaxed);
            let mut broken = broken.lock().unwrap_or_else(PoisonError::into_inner);
            if broken.as_ref().is_none_or(|(first, _)| seed < *first) {
                *broken = Some((seed, failure.violation.rule));
            }
        }
        plant(None);
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(play_next);
        }
    });
    let broken = broken.into_inner().unwrap_or_else(PoisonError::into_inner);
    broken.map(|(seed, rule)| (rule, seed + 1))
}
