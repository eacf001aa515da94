//! Tests of the assessment for every combination of the facts it is computed from.
//!
//! A fact that makes no difference is shown as `*`; values that make the same difference are shown together.

use crate::make::{self, ModelAnswer, T0};
use crate::render::spelled;
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::assess::{Assessment, AssessmentInput, NextAction, assess};
use holon_domain::agent::{AgentRecord, Lifecycle, RestRecord, RestWake};
use holon_domain::authority::AuthorityClass;
use holon_domain::closure::ClosureOutcome;
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::needs::Part;
use holon_domain::queue::{QueueEntry, QueueView};
use holon_domain::turn::{
    OpenTurn, PauseCause, Phase, TerminalKind, TerminalReason, TerminalRecord,
};

/// Sets one value of a fact on an agent and its queue.
type Change = Box<dyn Fn(&mut AgentRecord, &mut QueueView)>;
struct Dimension {
    name: &'static str,
    values: Vec<(&'static str, Change)>,
}

fn lifecycle() -> Dimension {
    let set =
        |lifecycle: Lifecycle| -> Change { Box::new(move |agent, _| agent.lifecycle = lifecycle) };
    Dimension {
        name: "lifecycle",
        values: vec![
            ("booting", set(Lifecycle::Booting)),
            ("runnable", set(Lifecycle::Runnable)),
            ("stopped", set(Lifecycle::Stopped)),
            ("deleting", set(Lifecycle::Deleting)),
        ],
    }
}

fn turn() -> Dimension {
    let open = states::calling_model().agent.open_turn.expect("a turn");
    let set = |phase: Option<Phase>| -> Change {
        let turn = phase.map(|phase| OpenTurn {
            phase,
            ..open.clone()
        });
        Box::new(move |agent, _| agent.open_turn.clone_from(&turn))
    };
    let until = T0.plus_millis(2_000);
    let running = Phase::RunningTool {
        round_entry: 2,
        call_index: 0,
        effect: 3,
    };
    let mut values = vec![("none", set(None))];
    values.push(("calling", set(Some(Phase::CallingModel { effect: 2 }))));
    values.push((
        "backing off",
        set(Some(Phase::BackingOff {
            due: 3,
            until,
            cause: PauseCause::Retry,
        })),
    ));
    values.push(("running", set(Some(running))));
    Dimension {
        name: "turn",
        values,
    }
}

fn queue() -> Dimension {
    let mut world = states::booting();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let prompt = world.queue().known_head().cloned().expect("a prompt");
    let follow_up = states::paced().queue().known_head().cloned();
    let follow_up = follow_up.expect("a follow-up");
    let set = |head: Option<QueueEntry>| -> Change {
        Box::new(move |_, queue| {
            queue.pending = u64::from(head.is_some());
            queue.head = Part::Loaded(head.clone());
        })
    };
    Dimension {
        name: "queue",
        values: vec![
            ("empty", set(None)),
            ("prompt", set(Some(prompt))),
            ("own follow-up", set(Some(follow_up))),
        ],
    }
}

fn pace() -> Dimension {
    let set = |pace: Option<RestWake>| -> Change { Box::new(move |agent, _| agent.pace = pace) };
    let at = T0.plus_millis(3_000);
    let waiting = RestWake { at, due: Some(7) };
    Dimension {
        name: "pace",
        values: vec![
            ("none", set(None)),
            ("set", set(Some(waiting))),
            ("over", set(Some(RestWake { at, due: None }))),
        ],
    }
}

fn rest() -> Dimension {
    let set = |rest: Option<Option<RestWake>>| -> Change {
        let rest = rest.map(|wake| RestRecord {
            since: T0,
            reason: Some("tired".to_owned()),
            wake,
            authority: AuthorityClass::OperatorInstruction,
        });
        Box::new(move |agent, _| agent.rest.clone_from(&rest))
    };
    let at = T0.plus_millis(4_000);
    let waiting = RestWake { at, due: Some(8) };
    Dimension {
        name: "rest",
        values: vec![
            ("none", set(None)),
            ("open", set(Some(None))),
            ("until", set(Some(Some(waiting)))),
        ],
    }
}

fn last_turn() -> Dimension {
    let set = |end: Option<(TerminalKind, TerminalReason)>| -> Change {
        let record = end.map(|(kind, reason)| TerminalRecord {
            last_assistant_message: None,
            turn_index: 1,
            kind,
            reason,
            completed_at: T0,
            duration_ms: 5,
            last_round_entry: None,
            usage: Default::default(),
            rounds: 1,
        });
        Box::new(move |agent, _| agent.last_turn.clone_from(&record))
    };
    let failed = (TerminalKind::Aborted, TerminalReason::ProviderFailed);
    let called_off = (TerminalKind::Aborted, TerminalReason::AgentStopped);
    Dimension {
        name: "last turn",
        values: vec![
            ("none", set(None)),
            (
                "finished",
                set(Some((TerminalKind::Completed, TerminalReason::Finished))),
            ),
            ("failed", set(Some(failed))),
            ("called off", set(Some(called_off))),
        ],
    }
}

fn tasks() -> Dimension {
    let set = |count: u32| -> Change { Box::new(move |agent, _| agent.active_tasks = count) };
    Dimension {
        name: "tasks",
        values: vec![("none", set(0)), ("one", set(1)), ("two", set(2))],
    }
}

fn dimensions() -> Vec<Dimension> {
    vec![
        lifecycle(),
        turn(),
        queue(),
        pace(),
        rest(),
        tasks(),
        last_turn(),
    ]
}

fn text(standing: &Assessment) -> String {
    let next = match &standing.next {
        NextAction::Stay => "stay".to_owned(),
        NextAction::Boot => "boot".to_owned(),
        NextAction::Turn => "turn".to_owned(),
        NextAction::Take => "take".to_owned(),
        NextAction::Pace { until } => format!("pace +{}", until.millis_since(T0)),
        NextAction::Tick(cause) => format!("tick for {cause:?}").to_lowercase(),
        NextAction::RestUntil { until } => format!("rest +{}", until.millis_since(T0)),
        NextAction::Rest => "rest".to_owned(),
    };
    let posture = &standing.posture;
    let wakes = posture
        .wakes_at
        .map_or(String::new(), |at| format!(" +{}", at.millis_since(T0)));
    let closure = standing.closure.as_ref().map_or_else(
        || "none".to_owned(),
        |closure| {
            let reason = closure
                .waiting_reason
                .map_or(String::new(), |reason| format!(" {}", spelled(reason)));
            let (outcome, held) = (spelled(closure.outcome), spelled(closure.runtime_posture));
            format!("{outcome}{reason}, {held}")
        },
    );
    format!(
        "{next} | {} | {}{wakes}: {} | {closure}",
        spelled(standing.status),
        spelled(posture.posture),
        posture.reason
    )
}

/// Facts and the assessment they lead to.
type Row = (Vec<String>, String);

/// Builds the rows for the remaining facts, joining values that lead to the same rows.
fn rows(rest: &[Dimension], agent: &AgentRecord, queue: &QueueView) -> Vec<Row> {
    let Some((first, others)) = rest.split_first() else {
        return vec![(
            Vec::new(),
            text(&assess(AssessmentInput::new(agent, queue))),
        )];
    };
    let mut groups: Vec<(Vec<&str>, Vec<Row>)> = Vec::new();
    for (value, change) in &first.values {
        let (mut agent, mut queue) = (agent.clone(), queue.clone());
        change(&mut agent, &mut queue);
        let below = rows(others, &agent, &queue);
        match groups.iter_mut().find(|(_, known)| *known == below) {
            Some((values, _)) => values.push(value),
            None => groups.push((vec![value], below)),
        }
    }
    let named = |values: &[&str]| {
        if values.len() == first.values.len() {
            "*".to_owned()
        } else {
            values.join("/")
        }
    };
    let spread = |(values, below): (Vec<&str>, Vec<Row>)| {
        let name = named(&values);
        below.into_iter().map(move |(facts, result)| {
            let facts = std::iter::once(name.clone()).chain(facts).collect();
            (facts, result)
        })
    };
    groups.into_iter().flat_map(spread).collect()
}

#[test]
fn every_combination_of_facts_has_its_reading() {
    let dimensions = dimensions();
    let agent = states::idle().agent;
    let names: Vec<&str> = dimensions.iter().map(|dimension| dimension.name).collect();
    let mut table = format!(
        "{}\n    next | status | posture | closure\n\n",
        names.join(" & ")
    );
    for (facts, result) in rows(&dimensions, &agent, &QueueView::default()) {
        table += &format!("{}\n    {result}\n", facts.join(" & "));
    }
    insta::assert_snapshot!(table);
}

/// Calls `check` with every combination of the given facts.
fn for_all(
    rest: &[Dimension],
    agent: &AgentRecord,
    queue: &QueueView,
    check: &dyn Fn(&AgentRecord, &QueueView, &Assessment),
) {
    let Some((first, others)) = rest.split_first() else {
        return check(agent, queue, &assess(AssessmentInput::new(agent, queue)));
    };
    for (_, change) in &first.values {
        let (mut agent, mut queue) = (agent.clone(), queue.clone());
        change(&mut agent, &mut queue);
        for_all(others, &agent, &queue, check);
    }
}

#[test]
fn the_four_readings_never_disagree() {
    let agent = states::idle().agent;
    for_all(
        &dimensions(),
        &agent,
        &QueueView::default(),
        &|agent, queue, standing| {
            let runs = standing.next == NextAction::Turn;
            assert_eq!(
                standing.closure.is_none(),
                runs,
                "a running turn has no closure"
            );
            assert_eq!(
                standing.posture.run_id.is_some(),
                runs,
                "a run is shown while it runs"
            );
            if let Some(closure) = &standing.closure {
                let waits = closure.outcome == ClosureOutcome::Waiting;
                assert_eq!(closure.waiting_reason.is_some(), waits);
                assert!(!closure.evidence.is_empty());
            }
            if matches!(standing.next, NextAction::Take | NextAction::Pace { .. }) {
                assert!(queue.pending > 0 && agent.lifecycle == Lifecycle::Runnable);
            }
        },
    );
}

#[test]
fn an_agent_whose_home_could_not_be_made_is_not_shown_as_stopped_by_an_operator() {
    let mut world = states::booting();
    let stamp = world.stamp().expect("its home is being made");
    world.send(make::home_prepared(stamp, Err("disk full")));
    let standing = assess(AssessmentInput::new(&world.agent, &world.queue()));
    insta::assert_snapshot!(text(&standing), @"stay | stopped | idle: stopped because its home could not be made; a start tries again | failed, sleeping");
}

#[test]
fn a_closure_that_failed_says_how() {
    let mut world = states::calling_model();
    let stamp = world.stamp().expect("a model is asked");
    let refused = ModelFailureKind::InvalidRequest;
    world.send(make::failed(refused, stamp, world.now));
    let standing = assess(AssessmentInput::new(&world.agent, &world.queue()));
    let closure = standing.closure.expect("it stands somewhere");
    assert_eq!(closure.outcome, ClosureOutcome::Failed);
    insta::assert_snapshot!(closure.evidence.join("; "), @"turn 1 ended: ProviderFailed (invalid_request: the provider said no)");
}

#[test]
fn an_agent_that_rests_beside_tasks_says_so_and_what_wakes_it() {
    let mut world = states::beside_tasks(2);
    world.send(ModelAnswer::calls(vec![make::sleep(None)]).to(&world));
    let reason = |world: &World| {
        assess(AssessmentInput::new(&world.agent, &world.queue()))
            .posture
            .reason
    };
    insta::assert_snapshot!(reason(&world), @"rests until any message arrives; 2 tasks run and the end of each wakes it, unless it was stopped: nothing to do");
    world.send(Input::Stop);
    world.send(Input::Start);
    let world = states::ready(world);
    insta::assert_snapshot!(reason(&world), @"rests until any message arrives; 2 tasks run and the end of each wakes it, unless it was stopped");
}
