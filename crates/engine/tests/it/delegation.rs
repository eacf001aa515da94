//! Children: made by `SpawnAgent`, supervised by their parent's task, ended by themselves, their task or their parent.

use crate::house::{House, agent, at_rest, events, prompt, status, until_event};
use crate::talk::{calling, current, id_in, results, texts};
use holon_domain::AgentId;
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::Event;
use holon_domain::limits::{LIVE_CHILDREN, SPAWNS_PER_HOUR};
use holon_domain::model::{ModelFailure, ModelReply, ModelRequest};
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_engine::Host;
use holon_testkit::ports::{PendingCall, calls, says, says_and_calls};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

type Asked = PendingCall<ModelRequest, Result<ModelReply, ModelFailure>>;

/// Requests to models by the agent that sends them, however they are interleaved.
struct Asks<'a> {
    house: &'a House,
    kept: VecDeque<Asked>,
}

impl<'a> Asks<'a> {
    const fn of(house: &'a House) -> Self {
        let kept = VecDeque::new();
        Self { house, kept }
    }

    /// Returns the next request of an agent whose name begins so.
    async fn next(&mut self, name: &str) -> Asked {
        let is_wanted = |asked: &Asked| asked.request.frame.cache.agent_id.starts_with(name);
        if let Some(place) = self.kept.iter().position(is_wanted) {
            return self.kept.remove(place).expect("a request");
        }
        loop {
            let asked = self.house.model.next().await;
            if is_wanted(&asked) {
                return asked;
            }
            self.kept.push_back(asked);
        }
    }

    async fn parent(&mut self) -> Asked {
        self.next("main").await
    }

    async fn child(&mut self) -> Asked {
        self.next("tmp_child").await
    }
}

fn spawn(task: &str) -> (&'static str, Value) {
    ("SpawnAgent", json!({ "initial_message": task }))
}

/// A host whose agent `main` made a child and rests.
async fn with_child<'a>(house: &'a House, task: &str) -> (Host, Asks<'a>, TaskRecord) {
    let host = calling(house, &[spawn(task)]).await;
    let mut asks = Asks::of(house);
    asks.parent().await.answer(says("it works"));
    at_rest(&host, "main").await;
    let [task] = house.tasks("main").await.try_into().expect("one task");
    (host, asks, task)
}

fn child_of(task: &TaskRecord) -> AgentId {
    task.child().expect("a child").child_agent_id.clone()
}

async fn is_archived(house: &House, id: &AgentId) {
    loop {
        let record = house.record(id).await.expect("its row stays");
        if record.archived_at.is_some() {
            assert_eq!(record.lifecycle, Lifecycle::Stopped);
            assert_eq!(record.open_turn, None);
            return;
        }
    }
}

#[tokio::test]
async fn a_child_works_on_its_task_and_its_report_is_the_result_of_its_parents_task() {
    let house = House::new();
    let host = calling(&house, &[spawn("count the\nfiles of the project")]).await;
    let mut asks = Asks::of(&house);
    let asked = asks.parent().await;
    let told = &results(&asked.request)[0];
    assert!(
        told.contains("works in the background as task task_"),
        "{told}"
    );
    asked.answer(says("a child counts them"));
    let asked = asks.child().await;
    assert!(current(&asked.request).contains("count the\nfiles of the project"));
    let [task] = house.tasks("main").await.try_into().expect("one task");
    let child = child_of(&task);
    assert_eq!(
        task.summary.as_deref(),
        Some("count the files of the project")
    );
    asked.answer(says("there are seven files"));
    let asked = asks.parent().await;
    let report = current(&asked.request);
    assert!(report.contains("there are seven files"), "{report}");
    assert!(report.contains(child.as_str()), "{report}");
    asked.answer(says("seven"));
    at_rest(&host, "main").await;
    let [task] = house.tasks("main").await.try_into().expect("one task");
    assert_eq!(task.status, TaskStatus::Completed);
    is_archived(&house, &child).await;
    house.is_sound("main").await;
    house.is_sound(child.as_str()).await;
    let kinds: Vec<String> = events(&host, "main")
        .await
        .iter()
        .map(|event| event.kind().to_owned())
        .collect();
    for kind in [
        "task_child_spawned",
        "work_item_delegation_created",
        "work_item_delegation_completed",
    ] {
        assert!(
            kinds.iter().any(|known| known == kind),
            "{kind} in {kinds:?}"
        );
    }
}

#[tokio::test]
async fn a_parent_is_shown_what_its_children_do_and_every_round_of_a_turn_shows_the_same() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count the files").await;
    let wait = json!({ "reason": "which directory?", "wake_on": ["operator"] });
    asks.child().await.answer(calls(&[("WaitFor", wait)]));
    asks.parent().await.answer(says("I do not know"));
    at_rest(&host, "main").await;
    prompt(&host, "main", "how is it going?").await;
    let asked = asks.parent().await;
    let shown = |asked: &Asked| -> Vec<String> {
        let texts = texts(&asked.request).into_iter();
        texts
            .filter(|text| text.contains("Children that work for you"))
            .collect()
    };
    let first = shown(&asked);
    assert_eq!(first.len(), 1, "{first:?}");
    for part in [
        child_of(&task).as_str(),
        task.id.as_str(),
        "waits for an answer of yours",
        "count the files",
    ] {
        assert!(first[0].contains(part), "{part} in {}", first[0]);
    }
    let input = json!({ "task_id": task.id, "input": "the one at the top" });
    asked.answer(calls(&[("TaskInput", input)]));
    let asked = asks.parent().await;
    assert_eq!(shown(&asked), first, "the child works again meanwhile");
}

#[tokio::test]
async fn a_child_whose_turn_fails_ends_its_task_as_failed() {
    let house = House::new();
    let (_host, mut asks, task) = with_child(&house, "count").await;
    let mut asked = asks.child().await;
    // The same invalid call again and again ends a turn with a failure.
    for _ in 0..5 {
        asked.answer(calls(&[("NoSuchTool", json!({}))]));
        asked = asks.next("").await;
    }
    let report = current(&asked.request);
    assert!(
        report.contains(&format!("Task {} failed", task.id)),
        "{report}"
    );
    assert!(report.contains("Next step: "), "{report}");
    assert!(report.contains("test/model"), "{report}");
    let task = house.task_is("main", TaskStatus::Failed).await;
    is_archived(&house, &child_of(&task)).await;
}

#[tokio::test]
async fn a_parent_writes_to_its_child_with_no_more_authority_than_its_turn() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count").await;
    let working = asks.child().await;
    prompt(&host, "main", "also count the directories").await;
    let input = json!({ "task_id": task.id, "input": "count directories too" });
    asks.parent().await.answer(calls(&[("TaskInput", input)]));
    let asked = asks.parent().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("has it in its queue"), "{told}");
    asked.answer(says("told it"));
    working.answer(says("seven files"));
    // The child has another message, so it has not ended.
    let asked = asks.child().await;
    assert!(current(&asked.request).contains("count directories too"));
    let child = house.record(&child_of(&task)).await.expect("a child");
    let turn = child.open_turn.expect("a turn");
    assert_eq!(turn.authority, AuthorityClass::RuntimeInstruction);
    asked.answer(says("seven files, two directories"));
    let asked = asks.parent().await;
    assert!(current(&asked.request).contains("two directories"));
}

#[tokio::test]
async fn a_child_that_waits_has_not_ended_and_its_parent_is_asked_in_the_operators_place() {
    let house = House::new();
    let (_host, mut asks, task) = with_child(&house, "count").await;
    let wait = json!({ "reason": "which directory?", "wake_on": ["operator"] });
    asks.child().await.answer(calls(&[("WaitFor", wait)]));
    let asked = asks.parent().await;
    let question = current(&asked.request);
    assert!(question.contains("which directory?"), "{question}");
    let status = json!({ "task_id": task.id });
    asked.answer(calls(&[("TaskStatus", status)]));
    let asked = asks.parent().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("phase: waiting\n"), "{told}");
    assert!(told.contains("awaiting_operator_input"), "{told}");
    let input = json!({ "task_id": task.id, "input": "the one at the top" });
    asked.answer(calls(&[("TaskInput", input)]));
    asks.parent().await.answer(says("answered"));
    let asked = asks.child().await;
    assert!(current(&asked.request).contains("the one at the top"));
    asked.answer(says("nine"));
    assert!(current(&asks.parent().await.request).contains("nine"));
    house.task_is("main", TaskStatus::Completed).await;
}

#[tokio::test]
async fn a_stopped_task_stops_its_child_and_a_late_answer_changes_nothing() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count").await;
    let late = asks.child().await;
    prompt(&host, "main", "stop it").await;
    let stop = json!({ "task_id": task.id });
    asks.parent().await.answer(calls(&[("TaskStop", stop)]));
    asks.parent().await.answer(says("stopped"));
    let task = house.task_is("main", TaskStatus::Cancelled).await;
    let child = child_of(&task);
    is_archived(&house, &child).await;
    late.answer(says("seven"));
    at_rest(&host, "main").await;
    assert_eq!(house.tasks("main").await, [task]);
    house.is_sound(child.as_str()).await;
    let received = |event: &&Event| matches!(event, Event::TaskResultReceived(_));
    assert_eq!(
        events(&host, "main").await.iter().filter(received).count(),
        0
    );
}

#[tokio::test]
async fn one_call_stops_a_whole_tree_and_the_parent_hears_of_it_after_its_start() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count").await;
    let _working = asks.child().await;
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stops");
    let child = child_of(&task);
    is_archived(&house, &child).await;
    house.task_is("main", TaskStatus::Cancelled).await;
    house.is_sound("main").await;
    host.control()
        .start_agent(&agent("main"))
        .await
        .expect("starts");
    prompt(&host, "main", "go on").await;
    let asked = asks.parent().await;
    let told = crate::talk::interjected(&asked.request).join("\n") + &current(&asked.request);
    assert!(told.contains(child.as_str()), "{told}");
}

#[tokio::test]
async fn the_removal_of_an_agent_removes_its_children_ended_or_not() {
    let house = House::new();
    let (host, mut asks, first) = with_child(&house, "count").await;
    asks.child().await.answer(says("seven"));
    asks.parent().await.answer(calls(&[spawn("count again")]));
    asks.parent().await.answer(says("again"));
    let _working = asks.child().await;
    let tasks = house.tasks("main").await;
    assert_eq!(tasks.len(), 2);
    host.control()
        .remove_agent(&agent("main"))
        .await
        .expect("removes");
    for task in tasks.iter().chain([&first]) {
        house.is_gone(&child_of(task)).await;
    }
    house.is_gone(&agent("main")).await;
}

#[tokio::test]
async fn the_removal_of_an_agent_that_is_aside_removes_its_children() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count").await;
    let _working = asks.child().await;
    house.damage("UPDATE agents SET record = 'x' || record WHERE agent_id = 'main'");
    host.control()
        .remove_agent(&agent("main"))
        .await
        .expect("removes");
    house.is_gone(&child_of(&task)).await;
    house.is_gone(&agent("main")).await;
}

#[tokio::test]
async fn the_removal_of_an_agent_removes_a_child_that_is_aside() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count").await;
    let _working = asks.child().await;
    let child = child_of(&task);
    house.damage(&format!(
        "UPDATE agents SET record = 'x' || record WHERE agent_id = '{child}'"
    ));
    host.control()
        .remove_agent(&agent("main"))
        .await
        .expect("removes");
    house.is_gone(&child).await;
    house.is_gone(&agent("main")).await;
}

#[tokio::test]
async fn a_child_whose_parent_is_gone_is_removed_at_the_next_start() {
    let before = House::new();
    let (host, mut asks, task) = with_child(&before, "count").await;
    let _working = asks.child().await;
    let house = before.after_crash();
    drop(host);
    let child = child_of(&task);
    house.damage("DELETE FROM agents WHERE agent_id = 'main'");
    let _host = house.start().await;
    house.is_gone(&child).await;
}

#[tokio::test]
async fn a_child_whose_row_of_the_tree_is_damaged_is_kept_for_its_parent() {
    let before = House::new();
    let (host, mut asks, task) = with_child(&before, "count").await;
    let _working = asks.child().await;
    let house = before.after_crash();
    drop(host);
    house.damage("UPDATE children SET parent = 'nobody'");
    let _host = house.start().await;
    let mut asks = Asks::of(&house);
    asks.child().await.answer(says("seven"));
    assert!(current(&asks.parent().await.request).contains("seven"));
    is_archived(&house, &child_of(&task)).await;
}

#[tokio::test]
async fn a_child_goes_on_after_a_crash_and_its_parent_still_gets_the_report() {
    let house = House::new();
    let (_host, mut asks, task) = with_child(&house, "count").await;
    let _working = asks.child().await;
    let house = house.after_crash();
    let host = house.start().await;
    let mut asks = Asks::of(&house);
    let asked = asks.child().await;
    until_event(&host, "main", "supervised_child_task_monitor_reattached").await;
    asked.answer(says("seven"));
    let asked = asks.parent().await;
    assert!(current(&asked.request).contains("seven"));
    asked.answer(says("noted"));
    let ended = house.task_is("main", TaskStatus::Completed).await;
    assert_eq!(ended.id, task.id);
    is_archived(&house, &child_of(&task)).await;
}

#[tokio::test]
async fn a_tree_has_a_bound_of_live_children_and_an_end_makes_room() {
    let house = House::new();
    let many: Vec<_> = (0..=LIVE_CHILDREN).map(|_| spawn("work")).collect();
    let host = calling(&house, &many).await;
    let mut asks = Asks::of(&house);
    let asked = asks.parent().await;
    let told = results(&asked.request);
    let refused: Vec<&String> = told
        .iter()
        .filter(|text| text.contains("limit_reached"))
        .collect();
    assert_eq!((told.len(), refused.len()), (many.len(), 1));
    assert!(refused[0].contains("live_children"), "{}", refused[0]);
    asked.answer(says("eight work"));
    asks.child().await.answer(says("done"));
    asks.parent().await.answer(calls(&[spawn("more")]));
    let asked = asks.parent().await;
    let told = results(&asked.request);
    assert!(
        told[0].contains("works in the background as task task_"),
        "{told:?}"
    );
    assert_eq!(
        status(&host, "main").await.active_task_count,
        u64::from(LIVE_CHILDREN)
    );
}

#[tokio::test]
async fn a_model_that_makes_a_child_in_every_round_meets_the_bound_of_an_hour() {
    let house = House::new();
    let _host = calling(&house, &[spawn("work")]).await;
    let mut asks = Asks::of(&house);
    let mut made = 0;
    let mut refused = String::new();
    loop {
        let asked = asks.next("").await;
        if asked.request.frame.cache.agent_id.starts_with("tmp_child") {
            asked.answer(says("done"));
            continue;
        }
        let told = results(&asked.request);
        match told.last() {
            Some(last) if last.contains("spawns_per_hour") => {
                refused.clone_from(last);
                assert_eq!(made, SPAWNS_PER_HOUR);
                house.clock.advance(3_600_001);
            }
            Some(last) if last.contains("works in the background as task") => made += 1,
            Some(_) | None => {}
        }
        if made > SPAWNS_PER_HOUR {
            break;
        }
        asked.answer(calls(&[spawn("work")]));
    }
    assert!(refused.contains("limit_reached"), "{refused}");
}

#[tokio::test]
async fn a_child_that_tries_to_stop_its_parent_is_refused_and_both_go_on() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "count").await;
    // Neither the task that stands for it nor a task of its parent's name is a task of the child.
    let attempts = [
        ("TaskStop", json!({ "task_id": task.id })),
        ("TaskStop", json!({ "task_id": "main" })),
        ("TaskInput", json!({ "task_id": task.id, "input": "stop" })),
        ("TaskStop", json!({ "task_id": "main", "agent_id": "main" })),
    ];
    asks.child().await.answer(calls(&attempts));
    let asked = asks.child().await;
    let told = results(&asked.request);
    assert_eq!(told.len(), attempts.len(), "{told:?}");
    for refused in &told {
        assert!(refused.contains(r#""ok":false"#), "{refused}");
    }
    for unknown in &told[..3] {
        assert!(unknown.contains("unknown_task"), "{unknown}");
    }
    let main = house.record(&agent("main")).await.expect("a parent");
    assert_ne!(main.lifecycle, Lifecycle::Stopped);
    let [running] = house.tasks("main").await.try_into().expect("one task");
    assert!(!running.is_over(), "{running:?}");
    asked.answer(says("seven files"));
    let asked = asks.parent().await;
    assert!(current(&asked.request).contains("seven files"));
    asked.answer(says("seven"));
    at_rest(&host, "main").await;
    house.task_is("main", TaskStatus::Completed).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn an_agent_that_makes_itself_by_name_is_refused_and_no_second_one_begins() {
    let house = House::new();
    let itself = |name: &str| {
        let input = json!({
            "preset": "public_named", "agent_id": name, "initial_message": "make yourself again",
        });
        ("SpawnAgent", input)
    };
    let host = calling(&house, &[itself("main"), itself("main")]).await;
    let mut asks = Asks::of(&house);
    let asked = asks.parent().await;
    let told = results(&asked.request);
    assert_eq!(told.len(), 2, "{told:?}");
    for refused in &told {
        assert!(refused.contains(r#""ok":false"#), "{refused}");
        assert!(refused.contains("exists"), "{refused}");
    }
    assert_eq!(house.tasks("main").await, []);
    asked.answer(calls(&[spawn("count")]));
    asks.parent().await.answer(says("a child counts"));
    // A name of the runtime is not given to an agent, so a live child cannot be named again.
    let [task] = house.tasks("main").await.try_into().expect("one task");
    prompt(&host, "main", "once more").await;
    let again = calls(&[itself(child_of(&task).as_str())]);
    asks.parent().await.answer(again);
    let asked = asks.parent().await;
    let told = results(&asked.request);
    let refused = told.last().expect("a result");
    assert!(refused.contains(r#""ok":false"#), "{refused}");
    asked.answer(says("no"));
    assert!(!house.tasks("main").await[0].is_over());
    // A child that makes itself meets the depth of the host before its name is looked at.
    let asked = asks.child().await;
    let own = asked.request.frame.cache.agent_id.clone();
    asked.answer(calls(&[itself(&own), itself("main")]));
    let asked = asks.child().await;
    for refused in &results(&asked.request) {
        assert!(refused.contains(r#""ok":false"#), "{refused}");
    }
    asked.answer(says("seven"));
    let asked = asks.parent().await;
    let report = current(&asked.request);
    assert!(report.contains("seven"), "{report}");
    assert!(!report.contains("make yourself again"), "{report}");
    asked.answer(says("seven"));
    at_rest(&host, "main").await;
    let spawned = |event: &&Event| matches!(event, Event::TaskChildSpawned(_));
    let made = events(&host, "main").await;
    assert_eq!(made.iter().filter(spawned).count(), 1);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_public_agent_owns_itself_and_begins_a_depth_of_its_own() {
    let house = House::new();
    let named =
        json!({ "preset": "public_named", "agent_id": "helper", "initial_message": "say hello" });
    let host = calling(&house, &[("SpawnAgent", named.clone())]).await;
    let mut asks = Asks::of(&house);
    let asked = asks.parent().await;
    let told = &results(&asked.request)[0];
    assert!(
        told.starts_with("helper exists and works for itself"),
        "{told}"
    );
    assert!(!told.contains("task"), "{told}");
    asked.answer(calls(&[("SpawnAgent", named)]));
    let asked = asks.parent().await;
    let told = results(&asked.request);
    let taken = told.last().expect("a result");
    assert!(taken.contains("exists"), "{taken}");
    asked.answer(says("made"));
    let asked = asks.next("helper").await;
    assert!(current(&asked.request).contains("say hello"));
    asked.answer(calls(&[spawn("work")]));
    let asked = asks.next("helper").await;
    let told = &results(&asked.request)[0];
    assert!(
        told.contains("works in the background as task task_"),
        "{told}"
    );
    asked.answer(says("hello"));
    // Only the child below it meets the depth of the host.
    let asked = asks.child().await;
    asked.answer(calls(&[spawn("more work")]));
    let asked = asks.child().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains(r#""ok":false"#), "{told}");
    asked.answer(says("worked"));
    asks.next("helper").await.answer(says("it has worked"));
    at_rest(&host, "helper").await;
    let helper = house.record(&agent("helper")).await.expect("an agent");
    assert_eq!(helper.identity.lineage_parent_agent_id, Some(agent("main")));
    assert_eq!(helper.identity.root_agent_id, Some(agent("main")));
    assert_eq!(helper.archived_at, None, "it owns itself");
}

#[tokio::test]
async fn a_child_in_a_worktree_works_apart_and_its_worktree_goes_when_it_ends_without_changes() {
    let house = House::new();
    let worktree = json!({ "initial_message": "change it", "workspace_mode": "worktree" });
    let host = calling(&house, &[("SpawnAgent", worktree.clone())]).await;
    let mut asks = Asks::of(&house);
    let asked = asks.parent().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("no worktree was made"), "{told}");
    assert_eq!(house.tasks("main").await, []);
    let enter = ("UseWorkspace", json!({ "path": "/repo" }));
    asked.answer(calls(&[enter, ("SpawnAgent", worktree)]));
    asks.parent().await.answer(says("it works"));
    let working = asks.child().await;
    let [task] = house.tasks("main").await.try_into().expect("one task");
    let own = task
        .child()
        .expect("a child")
        .worktree
        .clone()
        .expect("a worktree");
    let child = house.record(&child_of(&task)).await.expect("a child");
    assert_eq!(child.workspace.execution_root, own.worktree_path);
    assert_eq!(child.worktree_session.as_ref(), Some(&own));
    let main = house.record(&agent("main")).await.expect("a parent");
    assert_ne!(main.workspace.execution_root, own.worktree_path);
    // Its last process is still ending when the worktree is looked at.
    house.workspaces.uses_left.store(2, Ordering::SeqCst);
    working.answer(says("nothing to change"));
    let asked = asks.parent().await;
    loop {
        let child = house.record(&child_of(&task)).await.expect("its row stays");
        if child.worktree_end.is_some() {
            break;
        }
        house.clock.advance(1_000);
    }
    let cleaned = std::slice::from_ref(&own.worktree_path);
    assert_eq!(house.workspaces.cleaned(), cleaned);
    let status = json!({ "task_id": task.id });
    asked.answer(calls(&[("TaskStatus", status)]));
    let asked = asks.parent().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("cleanup_status: removed\n"), "{told}");
    assert!(told.contains(&own.worktree_path), "{told}");
    drop(host);
}

#[tokio::test]
async fn a_kept_worktree_is_told_with_its_reasons_and_its_changed_files() {
    let house = House::new();
    let enter = ("UseWorkspace", json!({ "path": "/repo" }));
    let worktree = json!({ "initial_message": "change it", "workspace_mode": "worktree" });
    let host = calling(&house, &[enter, ("SpawnAgent", worktree)]).await;
    let mut asks = Asks::of(&house);
    asks.parent().await.answer(says("it works"));
    house.workspaces.hold_changes(&["src/lib.rs", "notes.md"]);
    asks.child().await.answer(says("changed two files"));
    let asked = asks.parent().await;
    let [task] = house.tasks("main").await.try_into().expect("one task");
    let worktree = task.child().expect("a child").worktree.clone();
    let path = worktree.expect("a worktree").worktree_path;
    let report = current(&asked.request);
    assert!(report.contains(&path), "{report}");
    let child = child_of(&task);
    while house
        .record(&child)
        .await
        .expect("its row stays")
        .worktree_end
        .is_none()
    {
        house.clock.advance(1_000);
    }
    let id = json!({ "task_id": task.id });
    asked.answer(calls(&[("TaskStatus", id.clone()), ("TaskOutput", id)]));
    let asked = asks.parent().await;
    let told = results(&asked.request);
    assert_eq!(told.len(), 2);
    let task = host
        .reads()
        .task(&agent("main"), &task.id)
        .await
        .expect("a task");
    let supervision = task.child_supervision.expect("a child");
    assert_eq!(supervision.changed_files, ["src/lib.rs", "notes.md"]);
    assert_eq!(supervision.changed_files_total, Some(2));
    assert_eq!(supervision.kept_reasons, ["tracked files have changes (2)"]);
    let delegation = task.delegation.expect("a delegation");
    assert_eq!(
        delegation.result_summary.as_deref(),
        Some("changed two files")
    );
    for told in &told {
        assert!(told.contains("src/lib.rs"), "{told}");
        assert!(told.contains("tracked files have changes (2)"), "{told}");
    }
}

#[tokio::test]
async fn a_delegation_names_the_work_item_of_the_child_while_it_works_and_after_its_end() {
    let house = House::new();
    let (host, mut asks, task) = with_child(&house, "mend the build").await;
    let item_of = |host: &Host| {
        let (reads, id) = (host.reads(), task.id.clone());
        async move {
            let shown = reads.task(&agent("main"), &id).await.expect("a task");
            let delegation = shown.delegation.expect("a delegation");
            let supervision = shown.child_supervision.expect("a child");
            assert_eq!(
                delegation.child_work_item_id,
                supervision.child_work_item_id
            );
            delegation.child_work_item_id
        }
    };
    let new = ("CreateWorkItem", json!({ "objective": "mend the build" }));
    asks.child().await.answer(calls(&[new]));
    let asked = asks.child().await;
    assert_eq!(item_of(&host).await, None, "it has picked none");
    let id = id_in(&results(&asked.request)[0], "work_");
    let item = || json!({ "work_item_id": id });
    asked.answer(calls(&[("PickWorkItem", item())]));
    let asked = asks.child().await;
    let named = item_of(&host).await.expect("an item");
    assert_eq!(named.as_str(), id);
    let done = [("CompleteWorkItem", item())];
    asked.answer(says_and_calls("It builds again.", &done));
    asks.child().await.answer(says("done"));
    let parent = asks.parent().await;
    assert_eq!(item_of(&host).await, Some(named));
    parent.answer(says("good"));
}
