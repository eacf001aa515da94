//! `holon storage` in the real program: what is stored, what a removal would do, and that it does it.

use crate::support::{hello, world};

/// Turns of the agent: fewer than stay when only the size of the store counts.
const TURNS: u64 = 40;

#[test]
fn a_dry_run_says_what_a_removal_does_and_the_agent_goes_on() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let ask = |words: &str| {
        let asked = world.run(&["run", words, "--agent", "main"]);
        assert_eq!(asked.code, Some(0), "{asked:?}");
    };
    for turn in 1..=TURNS {
        ask(&format!("question {turn}"));
    }
    // What the thread shows stays, whatever its age.
    let cleared = world.run(&["context", "clear"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    ask("the last question");
    let report = || world.run(&["storage", "report", "--json"]).json();
    let before = report();
    assert_eq!(before["history"]["messages"]["rows"], TURNS + 1, "{before}");
    assert_eq!(before["agents"][0]["agent_id"], "main", "{before}");
    assert_eq!(before["budget_bytes"], 4_u64 << 30, "{before}");
    let shown = world.run(&["storage", "report"]);
    assert!(shown.answer().contains("of 4.0 GiB used"), "{shown:?}");

    let young = world.run(&["storage", "prune", "--older-than", "1"]);
    assert!(young.answer().contains("nothing to remove"), "{young:?}");
    let prune = |more: &[&str]| {
        let args = [&["storage", "prune", "--older-than", "0", "--json"], more].concat();
        let done = world.run(&args);
        assert_eq!(done.code, Some(0), "{done:?}");
        done.json()
    };
    let planned = prune(&["--dry-run"]);
    assert_eq!(planned["removed"]["turns"], TURNS, "{planned}");
    assert_eq!(report()["history"], before["history"], "nothing is gone");
    let done = prune(&[]);
    assert_eq!(done["removed"], planned["removed"]);
    assert_eq!(done["dry_run"], false);
    let after = report();
    assert_eq!(after["history"]["messages"]["rows"], 1);
    assert_eq!(after["history"]["briefs"]["rows"], TURNS + 1, "{after}");

    let refused = world.run(&["transcript", "--after", "1", "--json"]);
    assert!(refused.stderr.contains("cursor_too_old"), "{refused:?}");
    let told = world.run(&["tail", "--json"]).json();
    assert_eq!(told[0]["text"], "Hello there.", "{told}");
    let bad = world.run(&["storage", "prune", "--older-than", "x"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert_eq!(served.terminate().0, Some(0));
}
