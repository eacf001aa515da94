//! Calls about work items, interpreted to intents or errors, and the answers of those the shell performs.

use holon_domain::WorkItemId;
use holon_domain::agent::ProfilePreset::PublicNamed;
use holon_domain::block::ToolCall;
use holon_domain::intent::{
    BlockerChange, Intent, NewWorkItem, WorkIntent, WorkItemChange, WorkItemFilter, WorkQuery,
};
use holon_domain::limits::{
    BLOCKED_BY_BYTES, LIST_PLAN_PREVIEW_BYTES, OBJECTIVE_CHARACTERS, PLAN_BYTES, RECHECK_MS,
    TIMER_MAX_MS, TODO_ITEMS, TODO_TEXT_CHARACTERS,
};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::work_item::{
    PlanStatus, TodoItem, TodoState, ViewContext, WorkItemCursor, WorkItemRecord,
};
use holon_tools::{
    SchemaMode, all, create_work_item, emit, get_work_item, interpret, list_work_items,
};
use serde_json::{Value, json};

pub(crate) fn meant(tool: &str, input: &Value) -> Intent {
    interpret(tool, input, PublicNamed).expect("understood")
}

/// Returns the field a refusal names, and true if it says what to do.
pub(crate) fn refused_field(tool: &str, input: &Value) -> (Option<String>, bool) {
    let error: ToolError = interpret(tool, input, PublicNamed).expect_err("refused");
    assert_eq!(error.kind, ToolErrorKind::InvalidToolInput, "{input}");
    let field = error
        .details
        .as_ref()
        .and_then(|details| details.get("field"));
    let field = field.and_then(Value::as_str).map(str::to_owned);
    (field, error.recovery_hint.is_some())
}

pub(crate) fn refused_at(field: &str) -> (Option<String>, bool) {
    (Some(field.to_owned()), true)
}

fn changed(input: &Value) -> WorkItemChange {
    match meant("UpdateWorkItem", input) {
        Intent::Work(WorkIntent::Update { change, .. }) => change,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_item_is_a_draft_unless_it_says_otherwise() {
    let bare = meant(
        "CreateWorkItem",
        &json!({"objective": " Split the fixtures \n"}),
    );
    let expected = NewWorkItem {
        objective: "Split the fixtures".to_owned(),
        plan_status: PlanStatus::Draft,
        todo_list: Vec::new(),
    };
    assert_eq!(bare, Intent::CreateWorkItem(expected));
    let full = json!({
        "objective": "x", "plan_status": "needs_input",
        "todo_list": [{"text": " a ", "state": "in_progress"}, {"text": "b", "state": "in_progress"}],
    });
    let in_progress = |text: &str| TodoItem {
        text: text.to_owned(),
        state: TodoState::InProgress,
    };
    // Two entries in progress are accepted; the kernel warns.
    let expected = NewWorkItem {
        objective: "x".to_owned(),
        plan_status: PlanStatus::NeedsInput,
        todo_list: vec![in_progress("a"), in_progress("b")],
    };
    assert_eq!(
        meant("CreateWorkItem", &full),
        Intent::CreateWorkItem(expected)
    );
}

#[test]
fn what_is_too_long_for_an_item_is_refused_by_name() {
    let plan_bytes = usize::try_from(PLAN_BYTES).expect("fits");
    let todo = |text: String| json!({"text": text, "state": "pending"});
    for (field, input) in [
        (
            "objective",
            json!({"objective": "x".repeat(OBJECTIVE_CHARACTERS + 1)}),
        ),
        ("objective", json!({"objective": " \n"})),
        (
            "plan",
            json!({"objective": "x", "plan": "x".repeat(plan_bytes + 1)}),
        ),
        (
            "todo_list",
            json!({"objective": "x", "todo_list": vec![todo("a".into()); TODO_ITEMS + 1]}),
        ),
        (
            "todo_list",
            json!({"objective": "x", "todo_list": [todo("a".repeat(TODO_TEXT_CHARACTERS + 1))]}),
        ),
        (
            "todo_list",
            json!({"objective": "x", "todo_list": [todo("  ".into())]}),
        ),
    ] {
        assert_eq!(refused_field("CreateWorkItem", &input), refused_at(field));
    }
    let most = json!({
        "objective": "x".repeat(OBJECTIVE_CHARACTERS),
        "plan": "x".repeat(plan_bytes),
        "todo_list": vec![todo("a".repeat(TODO_TEXT_CHARACTERS)); TODO_ITEMS],
    });
    meant("CreateWorkItem", &most);
}

#[test]
fn null_and_the_empty_text_clear_a_blocker_and_absence_leaves_it() {
    let blocker = |input: Value| changed(&input).blocker;
    let item = "work_1";
    assert_eq!(
        blocker(json!({"work_item_id": item, "blocked_by": null})),
        Some(BlockerChange::Clear)
    );
    assert_eq!(
        blocker(json!({"work_item_id": item, "blocked_by": ""})),
        Some(BlockerChange::Clear)
    );
    assert_eq!(
        blocker(json!({"work_item_id": item, "plan_status": "ready"})),
        None
    );
    let packed = json!(json!({"work_item_id": item, "blocked_by": null}).to_string());
    assert_eq!(blocker(packed), Some(BlockerChange::Clear));
    let set = |recheck_after_ms| {
        Some(BlockerChange::Set {
            text: "review".to_owned(),
            recheck_after_ms,
        })
    };
    assert_eq!(
        blocker(json!({"work_item_id": item, "blocked_by": " review "})),
        set(RECHECK_MS)
    );
    assert_eq!(
        blocker(json!({"work_item_id": item, "blocked_by": "review", "recheck_after": 1})),
        set(1)
    );
}

#[test]
fn an_update_that_cannot_be_meant_is_refused_by_name() {
    let item = "work_1";
    for (field, input) in [
        (
            "blocked_by",
            json!({"work_item_id": item, "blocked_by": " \t\n"}),
        ),
        (
            "blocked_by",
            json!({"work_item_id": item, "blocked_by": "x".repeat(BLOCKED_BY_BYTES + 1)}),
        ),
        (
            "recheck_after",
            json!({"work_item_id": item, "recheck_after": 5}),
        ),
        (
            "recheck_after",
            json!({"work_item_id": item, "blocked_by": "", "recheck_after": 5}),
        ),
        (
            "recheck_after",
            json!({"work_item_id": item, "blocked_by": null, "recheck_after": 5}),
        ),
        (
            "recheck_after",
            json!({"work_item_id": item, "blocked_by": "x", "recheck_after": 0}),
        ),
        (
            "recheck_after",
            json!({"work_item_id": item, "blocked_by": "x", "recheck_after": TIMER_MAX_MS + 1}),
        ),
        (
            "objective",
            json!({"work_item_id": item, "objective": "  "}),
        ),
        (
            "work_item_id",
            json!({"work_item_id": " ", "plan_status": "ready"}),
        ),
    ] {
        assert_eq!(
            refused_field("UpdateWorkItem", &input),
            refused_at(field),
            "{input}"
        );
    }
    let nothing = json!({"work_item_id": item});
    assert_eq!(refused_field("UpdateWorkItem", &nothing), (None, true));
}

#[test]
fn an_empty_checklist_replaces_the_old_one() {
    let change = changed(&json!({"work_item_id": "work_1", "todo_list": []}));
    assert_eq!(change.todo_list, Some(Vec::new()));
}

#[test]
fn reads_have_defaults() {
    let id = WorkItemId::from_stored("work_1");
    assert_eq!(
        meant("GetWorkItem", &json!({"work_item_id": "work_1"})),
        Intent::WorkQuery(WorkQuery::Item {
            work_item_id: id,
            include_todo_list: false,
        })
    );
    assert_eq!(
        meant("ListWorkItems", &json!({})),
        Intent::WorkQuery(WorkQuery::Items {
            filter: WorkItemFilter::All,
            limit: 20,
            include_todo_list: false,
            after: None,
        })
    );
    assert_eq!(
        meant("ListTimers", &json!({})),
        Intent::WorkQuery(WorkQuery::Timers { limit: 20 })
    );
}

#[test]
fn the_plan_is_read_from_the_call_in_whatever_form_it_came() {
    let call = |input: Value| ToolCall {
        id: serde_json::from_value(json!("call_1")).expect("an id"),
        name: "CreateWorkItem".to_owned(),
        input,
        provider_id: None,
    };
    let plan = "# Plan\n";
    let packed = json!({"objective": "x", "plan": plan}).to_string();
    for input in [json!({"objective": "x", "plan": plan}), json!(packed)] {
        assert_eq!(create_work_item::plan_of(&call(input)), plan);
    }
    for input in [
        json!({"objective": "x"}),
        json!({"objective": "x", "plan": null}),
    ] {
        assert_eq!(create_work_item::plan_of(&call(input)), "");
    }
}

/// An item with long texts, as stored.
fn item(n: usize) -> WorkItemRecord {
    serde_json::from_value(json!({
        "id": format!("work_{n}"), "agent_id": "main", "workspace_id": "ws-1",
        "objective": "o".repeat(OBJECTIVE_CHARACTERS), "state": "open", "plan_status": "ready",
        "plan": {"hash": "ab", "bytes": 9, "updated_at": "2026-01-01T00:00:00Z", "preview": "PREVIEW", "preview_complete": true},
        "blocked_by": "b".repeat(BLOCKED_BY_BYTES),
        "provenance": {"authority": "operator_instruction"},
        "revision": 1, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }))
    .expect("an item")
}

fn view(n: usize) -> holon_domain::work_item::WorkItemView {
    item(n).view(ViewContext {
        agent_home: "/h/main",
        current: None,
        wake_count: 0,
        include_todo_list: false,
    })
}

fn result(envelope: &ToolEnvelope) -> Value {
    json!(envelope)["result"].clone()
}

fn cursor(number: usize) -> WorkItemCursor {
    WorkItemCursor {
        changed: holon_domain::Timestamp::from_millis(1_000),
        number: i64::try_from(number).expect("a number"),
    }
}

fn page(count: usize) -> list_work_items::ItemPage {
    let items = (0..count).map(|n| (cursor(count - n), view(n).with_short_plan()));
    list_work_items::ItemPage {
        filter: WorkItemFilter::Open,
        limit: 100,
        items: items.collect(),
        total: 250,
        next: Some(cursor(1)),
    }
}

#[test]
fn a_list_holds_as_many_items_as_a_receipt_has_room_for_and_goes_on_behind_the_last() {
    let envelope = list_work_items::envelope(None, &page(100));
    let listed = result(&envelope);
    let returned = listed["returned"].as_u64().expect("a count");
    assert!((1..100).contains(&returned), "{returned}");
    assert_eq!(
        listed["work_items"].as_array().map(Vec::len),
        Some(returned as usize)
    );
    assert_eq!(listed["total_matching"], 250);
    let last = cursor(100 - (returned as usize - 1));
    assert_eq!(listed["next_cursor"], last.to_string());
    let listed = result(&list_work_items::envelope(None, &page(2)));
    assert_eq!(listed["returned"], 2);
    assert_eq!(listed["next_cursor"], cursor(1).to_string(), "a full page");
    let last = list_work_items::ItemPage {
        next: None,
        ..page(2)
    };
    let listed = result(&list_work_items::envelope(None, &last));
    assert_eq!(listed.get("next_cursor"), None, "the last page");
}

#[test]
fn a_list_shows_the_first_words_of_each_plan() {
    let mut long = view(1);
    long.plan_artifact.preview = "step ".repeat(200);
    long.plan_artifact.preview_complete = true;
    let long = long.with_short_plan();
    assert!(long.plan_artifact.preview.len() <= LIST_PLAN_PREVIEW_BYTES);
    assert!(!long.plan_artifact.preview_complete, "the rest is cut");
    let listed = result(&list_work_items::envelope(None, &page(1)));
    let plan = &listed["work_items"][0]["plan_artifact"];
    assert_eq!(
        (&plan["preview"], &plan["preview_complete"]),
        (&json!("PREVIEW"), &json!(true))
    );
}

#[test]
fn a_list_goes_on_behind_a_cursor_and_refuses_another_text() {
    let asked = meant("ListWorkItems", &json!({ "after": "1000.7" }));
    let Intent::WorkQuery(WorkQuery::Items { after, .. }) = asked else {
        panic!("a list: {asked:?}");
    };
    assert_eq!(after, Some(cursor(7)));
    let refused = refused_field("ListWorkItems", &json!({ "after": "page 2" }));
    assert_eq!(refused, refused_at("after"));
}

#[test]
fn one_item_is_shown_with_the_beginning_of_its_plan() {
    let shown = result(&get_work_item::envelope(None, &view(1)));
    assert_eq!(shown["work_item"]["plan_artifact"]["preview"], "PREVIEW");
    assert_eq!(
        shown["work_item"]["plan_artifact"]["path"],
        "/h/main/work-items/work_1/plan.md"
    );
    let unknown = get_work_item::unknown(&WorkItemId::from_stored("work_9"));
    let error = unknown.error().expect("an error");
    assert_eq!(error.kind, ToolErrorKind::UnknownWorkItem);
}

#[test]
fn a_plan_that_was_never_written_is_not_said_to_be_shown_whole() {
    let context = ViewContext {
        agent_home: "/h/main",
        current: None,
        wake_count: 0,
        include_todo_list: false,
    };
    let written = view(1).plan_artifact;
    assert!(written.exists && written.preview_complete);
    let bare = WorkItemRecord {
        plan: None,
        ..item(1)
    };
    let plan = json!(bare.view(context).plan_artifact);
    assert_eq!(
        plan,
        json!({
            "path": "/h/main/work-items/work_1/plan.md", "exists": false, "bytes": 0, "preview": "",
            "preview_complete": false,
        })
    );
}

#[test]
fn the_filters_of_the_list_are_described_as_they_count_items() {
    let listed = all().iter().find(|spec| spec.name == list_work_items::NAME);
    let listed = listed.expect("the tool");
    for mode in [SchemaMode::Relaxed, SchemaMode::Strict] {
        let schema = emit(listed, mode).parameters;
        let words = schema["properties"]["filter"]["description"]
            .as_str()
            .unwrap_or_else(|| panic!("{schema}"));
        assert!(words.contains("also while it waits"), "{words}");
        assert!(words.contains("blocked_by alone"), "{words}");
        assert!(!words.contains("also by a wait"), "{words}");
    }
}
