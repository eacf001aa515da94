//! The search of memory finds what people look for.

use holon_testkit::recall::{LEAST_RECALL, Recall, Script};

#[test]
fn most_of_what_people_look_for_is_among_the_first_five_results() {
    let recall = Recall::measure();
    let all = recall.shares(None);
    let missed = recall.asked.iter().filter(|asked| !asked.found);
    let missed: Vec<&str> = missed.map(|asked| asked.query).collect();
    assert!(all.queries >= 100, "{all:?}");
    assert!(all.found >= LEAST_RECALL, "{all:?}, missed {missed:?}");
    assert!(all.found > all.found_plainly, "{all:?}");
    for script in Script::ALL {
        let shares = recall.shares(Some(script));
        assert!(shares.queries >= 15, "{script:?}: {shares:?}");
        assert!(
            shares.found >= shares.found_plainly,
            "{script:?}: {shares:?}"
        );
    }
}
