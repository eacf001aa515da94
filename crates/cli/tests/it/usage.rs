//! `holon usage` in the real program.

use crate::models::{Entry, configure, together};
use crate::support::{hello, world};
use crate::terminal::Terminal;
use holon_testkit::provider::{Protocol, Provider, Round, Script};

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

/// Runs one call that reads 600 of 1,000 tokens from the cache and writes 300, and returns what is shown of it.
fn usage_of_cached_call(protocol: Protocol) -> (serde_json::Value, String) {
    let world = world();
    let round = Round::text("Done.").usage(1_000, 10, 600);
    let provider = Provider::start(Script::of([round.written_to_cache(300)]));
    let settings = "model.default = \"one/m\"\n\
         [models.catalog.\"one/m\"]\n\
         price_input = \"10\"\nprice_output = \"100\"\n\
         price_cache_read = \"1\"\nprice_cache_write = \"20\"\n";
    let entry = Entry::new("one", protocol, provider.base_url());
    configure(&world, settings, &[entry]);
    let served = world.serve(&[]);
    let run = world.run(&["run", "hi", "--agent", "main"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let total = world.run(&["usage", "--json"]).json()["total"].clone();
    let words = world.run(&["usage"]).answer().to_owned();
    assert_eq!(served.terminate().0, Some(0));
    provider.finish();
    (total, words)
}

#[test]
fn cached_tokens_of_every_protocol_are_counted_and_priced_apart() {
    // Micro-dollars: plain input 10, cache read 1, cache write 20, output 100 for each token.
    let cases = [
        (
            Protocol::Messages,
            300,
            100 * 10 + 600 + 300 * 20 + 10 * 100,
        ),
        (Protocol::Chat, 0, 400 * 10 + 600 + 10 * 100),
        (Protocol::Responses, 0, 400 * 10 + 600 + 10 * 100),
        (Protocol::Codex, 0, 400 * 10 + 600 + 10 * 100),
    ];
    together(&cases, |(protocol, written, cost)| {
        let (total, words) = usage_of_cached_call(*protocol);
        for (name, tokens) in [
            ("input_tokens", 1_000),
            ("cache_read_tokens", 600),
            ("cache_write_tokens", *written),
            ("known_cost_micro_usd", *cost),
        ] {
            assert_eq!(total[name], tokens, "{protocol:?}: {total}");
        }
        assert!(words.contains(", 600 cached"), "{words}");
        assert_eq!(
            words.contains("written to the cache"),
            *written > 0,
            "{words}"
        );
    });
}
