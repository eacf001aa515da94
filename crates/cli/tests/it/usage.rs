//! `holon usage` in the real program.

use crate::support::{hello, world};
use crate::terminal::Terminal;

#[test]
fn usage_is_listed_by_agent_day_and_model_and_an_unknown_price_is_said_to_be_unknown() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let empty = world.run(&["usage"]);
    assert!(empty.answer().contains("nothing was used"), "{empty:?}");
    for agent in ["main", "main", "other"] {
        let run = world.run(&["run", "hi", "--agent", agent, "--create-agent"]);
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    let by_agent = world.run(&["usage", "--json"]).json();
    let rows = by_agent["rows"].as_array().unwrap();
    let calls: Vec<_> = rows
        .iter()
        .map(|row| (row["key"].as_str().unwrap(), row["calls"].as_u64().unwrap()))
        .collect();
    assert_eq!(calls, [("main", 2), ("other", 1)]);
    assert_eq!(by_agent["total"]["calls"], 3);
    assert_eq!(by_agent["total"]["cost"], "unknown");
    assert!(
        by_agent["total"]["input_tokens"].as_u64() > Some(0),
        "{by_agent}"
    );

    let of_one = world.run(&["usage", "--agent", "other", "--model", "--json"]);
    let of_one = of_one.json();
    assert_eq!(of_one["by"], "model");
    assert_eq!(
        of_one["total"],
        of_one["rows"][0]
            .as_object()
            .map(|row| {
                let mut row = row.clone();
                row.remove("key");
                serde_json::Value::Object(row)
            })
            .unwrap()
    );
    let by_day = world.run(&["usage", "--day", "--json"]).json();
    assert_eq!(by_day["rows"][0]["key"].as_str().map(str::len), Some(10));
    let words = world.run(&["usage"]);
    assert!(words.answer().contains("cost unknown"), "{words:?}");

    let missing = world.run(&["usage", "--agent", "nobody"]);
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);
    assert!(missing.stderr.contains("nobody"), "{}", missing.stderr);
    let bad = world.run(&["usage", "--day", "yesterday"]);
    assert_eq!(bad.code, Some(1), "{bad:?}");
    let two = world.run(&["usage", "--day", "--item"]);
    assert_eq!(two.code, Some(2), "{two:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_terminal_gets_a_chart_that_fits_and_a_pipe_gets_words() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for agent in ["main", "main", "other-agent-with-a-long-name"] {
        let run = world.run(&["run", "hi", "--agent", agent, "--create-agent"]);
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    for columns in [40, 80, 200] {
        let shown = Terminal::start_sized(&world, &["usage"], columns).finish();
        let width = usize::from(columns);
        let too_wide = shown.lines().find(|line| line.chars().count() > width);
        assert_eq!(too_wide, None, "{shown}");
        let rows: Vec<&str> = shown.lines().take(2).collect();
        // The world has no locale, so that the bars are plain.
        assert!(rows.iter().all(|row| row.contains('#')), "{shown}");
        assert!(rows.iter().all(|row| row.ends_with("unknown")), "{shown}");
        assert!(shown.contains("total  "), "{shown}");
    }
    let piped = world.run(&["usage"]);
    assert!(!piped.stdout.contains('#'), "{piped:?}");
    assert_eq!(piped.stdout.lines().count(), 3, "{piped:?}");
    assert!(
        piped
            .stdout
            .lines()
            .all(|line| line.contains("cost unknown")),
        "{piped:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}
