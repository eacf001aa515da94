//! Tests of the measurement of start latencies.

use super::place::{Place, image};
use holon_process::{Shims, start_latencies};

#[tokio::test]
async fn every_round_is_measured() {
    let places: Vec<Place> = (0..20).map(|_| Place::new()).collect();
    let mut rounds = places.iter();
    let measured = start_latencies(&Shims::new(image()), 20, |_| {
        rounds.next().unwrap().spec("true")
    })
    .await;
    let mut measured = measured.unwrap();
    assert_eq!(measured.len(), 20);
    measured.sort_unstable();
    println!(
        "spec to program: p50 {:?}, max {:?}",
        measured[10], measured[19]
    );
}
