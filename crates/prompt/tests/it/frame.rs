//! Order, labels and bounds of a frame.

use crate::fixture::{Scene, at, channel, kept, operator, past, task, task_result, webhook};
use crate::work::{busy, item};
use holon_domain::limits::{RECENT_MESSAGE_BYTES, RECENT_MESSAGE_BYTES_MAX};
use holon_domain::message::Body;
use holon_domain::model::Stability;
use holon_domain::prompt_plan::{BlockOutcome, BlockSource, CutReason};
use holon_prompt::{ExplainedPart, Work, explain, hash, interjection_text, rebuild};
use serde_json::json;

#[test]
fn a_whole_frame_reads_as_published() {
    let mut scene = Scene::new();
    scene.history = vec![
        past(operator(2, "Hello."), Some("Hello. What is to be done?")),
        past(webhook(3, "{\"ref\":\"main\"}"), None),
    ];
    scene.current = channel(4, "Please look at the\nfailing test.");
    let built = scene.built();
    insta::assert_snapshot!("stable", built.stable);
    insta::assert_snapshot!("agent_scoped", built.agent_scoped);
    insta::assert_snapshot!("surroundings", built.surroundings.expect("a text"));
    let context: Vec<&str> = built
        .frame
        .context_blocks
        .iter()
        .map(|block| block.text.as_str())
        .collect();
    insta::assert_snapshot!("context", context.join("\n----\n"));
}

#[test]
fn blocks_stand_in_the_order_of_their_stability_and_the_cache_may_end_after_each_lasting_part() {
    let mut scene = Scene::new();
    scene.history = vec![past(operator(2, "Hello."), None)];
    let built = scene.built();
    let shape = |blocks: &[holon_domain::model::PromptBlock]| -> Vec<(Stability, bool)> {
        blocks
            .iter()
            .map(|block| (block.stability, block.cache_breakpoint))
            .collect()
    };
    assert_eq!(
        shape(&built.frame.system_blocks),
        [
            (Stability::Stable, true),
            (Stability::AgentScoped, true),
            (Stability::AgentScoped, true),
        ]
    );
    assert_eq!(
        shape(&built.frame.context_blocks),
        [
            (Stability::TurnScoped, false),
            (Stability::TurnScoped, true),
            (Stability::TurnScoped, false)
        ],
        "a heading, the message, the input"
    );
    assert_eq!(built.sections, 6);
    let surroundings = built.surroundings.expect("a text");
    assert_eq!(
        built.frame.system_prompt,
        format!(
            "{}\n\n{}\n\n{surroundings}",
            built.stable, built.agent_scoped
        )
    );
}

#[test]
fn the_current_input_is_last_and_carries_its_provenance() {
    let mut scene = Scene::new();
    scene.history = vec![past(operator(2, "Hello."), Some("Hi."))];
    let last = scene.last_block();
    assert!(
        last.ends_with("received_at=2026-11-14T23:46:41.000Z]\nFix the build."),
        "{last}"
    );
    for part in [
        "Current input:\n[message=msg_00000000000000000001",
        "kind=operator_prompt",
        "origin=operator",
        "authority_class=operator_instruction",
        "Turn started at 2026-11-14T23:48:20.000Z.",
    ] {
        assert!(last.contains(part), "{part} in {last}");
    }
}

#[test]
fn an_empty_history_is_not_shown_at_all() {
    let built = Scene::new().built();
    assert_eq!((built.frame.context_blocks.len(), built.sections), (1, 4));
    assert!(
        !built.frame.context_blocks[0]
            .text
            .contains("Recent messages")
    );
}

#[test]
fn history_shows_the_newest_messages_oldest_first_each_cut_to_its_bound() {
    let mut scene = Scene::new();
    let many = 41;
    scene.history = (0..many)
        .map(|n| past(operator(n, &format!("message-{n:03}.")), Some("done.")))
        .collect();
    let shown = scene.before_input();
    let seen: Vec<u32> = (0..many)
        .filter(|n| shown.contains(&format!("message-{n:03}.")))
        .collect();
    assert_eq!(
        seen,
        (24..many).collect::<Vec<_>>(),
        "from the last step on"
    );
    let place = |n: u32| shown.find(&format!("message-{n:03}."));
    assert!((25..many).all(|n| place(n - 1) < place(n)), "oldest first");

    scene.history = vec![past(
        channel(1, &"é\u{200b}".repeat(50_000)),
        Some(&"z".repeat(50_000)),
    )];
    for (budget_tokens, bytes) in [
        (15_000, RECENT_MESSAGE_BYTES),
        (40_000, 8_192),
        (65_535, 8_192),
        (65_536, 16_384),
        (1_000_000, RECENT_MESSAGE_BYTES_MAX),
    ] {
        scene.budget_tokens = budget_tokens;
        let shown = scene.before_input().len();
        assert!(
            (bytes + 1_000..2 * bytes + 1_000).contains(&shown),
            "{budget_tokens}: {shown}"
        );
    }
}

#[test]
fn a_message_without_an_answer_shows_none() {
    let mut scene = Scene::new();
    for answer in [None, Some(""), Some(" \n")] {
        scene.history = vec![past(operator(2, "Hello."), answer)];
        assert!(!scene.before_input().contains("Your answer"));
    }
    scene.history = vec![past(operator(2, "Hello."), Some("Hi."))];
    assert!(
        scene
            .before_input()
            .ends_with("Hello.\nYour answer:\n> Hi.")
    );
}

#[test]
fn words_of_the_runtime_about_a_failure_are_not_shown_as_an_answer() {
    let mut scene = Scene::new();
    let mut failed = past(operator(1, "Fix it."), Some("run failed: no network"));
    failed.is_failure = true;
    scene.history = vec![failed];
    let shown = scene.before_input();
    assert!(!shown.contains("Your answer"), "{shown}");
    assert!(
        shown
            .contains("the turn failed and the runtime told the sender:\n> run failed: no network"),
        "{shown}"
    );
}

#[test]
fn a_message_without_content_says_so() {
    let mut scene = Scene::new();
    scene.current.body = Body::Json { value: json!(null) };
    assert!(scene.last_block().ends_with("]\n(no content)"));
}

#[test]
fn the_agents_surroundings_are_stated_with_what_is_not_enforced() {
    let text = Scene::new().built().frame.system_prompt;
    for fact in [
        "agent_id: main",
        "agent_home: /srv/op/.holon/agents/main",
        "execution_root: /srv/op/.holon/agents/main",
        "backend host_local",
        "\nhard_enforced: cwd, projection\n",
        "\nnot_enforced: paths, writes, network, secrets, child processes\n",
        "Runtime: active_model=scripted/hello.json",
    ] {
        assert!(text.contains(fact), "{fact} in {text}");
    }
}

#[test]
fn a_later_round_keeps_the_texts_it_began_with() {
    let scene = Scene::new();
    let first = scene.built();
    assert_eq!(rebuild(&scene.input(), kept(&first)), first);

    let mut moved = scene;
    moved.agent.settings.workspace.cwd = "/elsewhere".into();
    moved.model = holon_domain::model::ModelRef::parse("other/model").expect("a reference");
    assert_eq!(rebuild(&moved.input(), kept(&first)), first);
    assert_ne!(moved.built().surroundings, first.surroundings);
}

#[test]
fn an_interjection_is_labelled_as_received_during_the_turn() {
    let text = interjection_text(&operator(7, "Stop after the first file."));
    assert!(
        text.starts_with("An operator's message that came at ")
            && text.contains(" joins this turn:\n[message=msg_"),
        "{text}"
    );
    assert!(
        text.contains("authority_class=operator_instruction")
            && text.ends_with("]\nStop after the first file.")
    );
}

#[test]
fn running_tasks_stand_between_history_and_the_current_input_and_cost_the_cache_nothing() {
    let mut scene = Scene::new();
    scene.history = vec![past(operator(2, "Hello."), None)];
    let key = scene.built().frame.cache.prompt_cache_key;
    scene.tasks = vec![
        task(1, 10, "npm run dev"),
        task(2, 95, &"cargo test --workspace ".repeat(20)),
    ];
    let built = scene.built();
    assert_eq!(built.sections, 7);
    assert_eq!(built.frame.cache.prompt_cache_key, key);
    let [heading, history, tasks, current] = built.frame.context_blocks.as_slice() else {
        panic!("history, tasks, current input: {:?}", built.frame);
    };
    assert!(heading.text.starts_with("Recent messages"));
    assert!(history.text.ends_with("Hello."));
    assert!(current.text.contains("Current input:"));
    assert_eq!(
        (tasks.stability, tasks.cache_breakpoint),
        (Stability::TurnScoped, false)
    );
    insta::assert_snapshot!("tasks", tasks.text);
}

#[test]
fn of_many_tasks_the_first_are_named_and_the_rest_counted() {
    let mut scene = Scene::new();
    scene.tasks = (1..=20)
        .map(|n| task(n, i64::from(n), &format!("sleep {n}")))
        .collect();
    let shown = scene.built().frame.context_blocks[0].text.clone();
    assert!(shown.contains(": sleep 16\n") && !shown.contains("sleep 17"));
    assert!(
        shown.ends_with("\n- and 4 more; TaskList shows all"),
        "{shown}"
    );
}

#[test]
fn tasks_take_their_room_from_history_and_not_from_the_current_input() {
    let mut scene = Scene::new();
    scene.history = (0..20)
        .map(|n| past(operator(n, &"words ".repeat(200)), None))
        .collect();
    let shown = |scene: &Scene| {
        assert!(scene.last_block().contains("Fix the build."));
        scene.before_input().matches("\nwords words").count()
    };
    scene.budget_tokens = 6_000;
    while shown(&scene) < 12 {
        scene.budget_tokens += 50;
    }
    let without = shown(&scene);
    scene.tasks = (1..=16)
        .map(|n| task(n, 1, &format!("{n} {}", "x".repeat(150))))
        .collect();
    assert!(shown(&scene) < without, "{without}");
}

#[test]
fn the_end_of_a_task_is_labelled_as_such_and_is_no_message_of_the_operators() {
    let told = "Task task_00000000000000000001 failed: exit 2 after 61000 ms\n\
                Command: cargo test\nLast output:\nerror: 1 test failed";
    let mut result = task_result(7, told);
    result.created_at = at(99);
    insta::assert_snapshot!("task_interjection", interjection_text(&result));
}

#[test]
fn texts_are_named_by_half_a_sha_256() {
    assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb924");
}

#[test]
fn a_small_budget_leaves_out_the_oldest_turns_in_groups_and_never_the_current_input() {
    let mut scene = Scene::new();
    let body = "words ".repeat(200);
    scene.history = (0..12)
        .map(|n| past(operator(n, &format!("number {n} {body}")), None))
        .collect();
    let shown = |budget_tokens| {
        let scene = Scene {
            budget_tokens,
            ..scene.clone()
        };
        let context = scene.before_input();
        assert!(scene.last_block().ends_with("Fix the build."));
        (0..12)
            .filter(|n| context.contains(&format!("number {n} ")))
            .collect::<Vec<u32>>()
    };
    let all: Vec<u32> = (0..12).collect();
    let mut before = shown(0);
    assert_eq!(before, [0; 0]);
    for budget in (0..30_000).step_by(250) {
        let now = shown(budget);
        assert!(all.ends_with(&now), "the newest stay: {now:?}");
        assert!(now.ends_with(&before), "more room shows more: {now:?}");
        assert_eq!(now.len() % 4, 0, "four turns at a time: {now:?}");
        before = now;
    }
    assert_eq!(before, all);
}

#[test]
fn a_text_that_exceeds_a_bound_of_its_own_is_told_as_shortened() {
    let mut scene = busy();
    let words = "request line with words\n".repeat(4_000);
    let answer = "answer line with words\n".repeat(3_500);
    scene.history = vec![
        past(operator(1, &words), Some(&answer)),
        past(operator(2, "short"), Some("answer")),
    ];
    scene.current = operator(3, "go on");
    let outcomes = |parts: Vec<ExplainedPart>| -> Vec<(BlockOutcome, u32, u32)> {
        let parts = parts.into_iter().map(|part| part.decision);
        let history = parts.filter(|part| part.source == BlockSource::History);
        history
            .map(|part| (part.outcome, part.from_tokens, part.to_tokens))
            .collect()
    };
    let built = scene.built();
    let mut later = scene.input();
    later.work = Work::Kept(built.work.as_deref());
    for parts in [
        explain(&scene.input(), None),
        explain(&later, Some(kept(&built))),
    ] {
        let shown = outcomes(parts);
        let [(long, from, to), (short, ..)] = shown.as_slice() else {
            panic!("{shown:?}");
        };
        let reason = CutReason::OverShare;
        assert_eq!(*long, BlockOutcome::Shortened { reason });
        assert!(from > &(to * 4), "{from} to {to}");
        assert_eq!(*short, BlockOutcome::Kept);
    }
    assert_eq!(rebuild(&later, kept(&built)).frame, built.frame);
    assert!(
        built.cuts.is_empty(),
        "every request cuts it at the same place"
    );

    let todo = json!({"text": "t".repeat(200), "state": "pending"});
    let item = item("current", &json!({ "todo_list": vec![todo; 100] }));
    scene.work.current = Some(item);
    let built = scene.built();
    let [cut] = built.cuts.as_slice() else {
        panic!("{:?}", built.cuts);
    };
    assert_eq!(
        (cut.source, cut.reason),
        (BlockSource::CurrentItem, CutReason::OverShare)
    );
    assert!(cut.from > cut.to && cut.to > 0, "{cut:?}");
    let mut later = scene.input();
    later.work = Work::Kept(built.work.as_deref());
    let rebuilt = rebuild(&later, kept(&built));
    assert_eq!((&rebuilt.frame, &rebuilt.cuts), (&built.frame, &built.cuts));
}
