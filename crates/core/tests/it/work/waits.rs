//! Tests of waits: what ends them, what they block, and that every end is reported.

use super::*;
use holon_core::Ingress;
use holon_domain::closure::WaitingReason;
use holon_domain::continuation::ContinuationClass as Class;
use holon_domain::limits;
use holon_domain::message::{AdmissionContext, DeliverySurface, Origin, ResumeReason};
use holon_domain::timer::DueTime;
use holon_domain::wait::{WaitKind, WaitStatus};
use holon_domain::work_item::WorkItemSchedulingState as State;

const HOUR: u64 = 3_600_000;

fn status(world: &World) -> WaitStatus {
    world.waits.last().expect("a wait").status
}

/// Lets the open turn take up its focused item, by which an operator's message counts as the answer.
fn answer(world: &mut World) {
    let id = current(world).expect("an item has the focus").clone();
    call(world, vec![pick(&id)]);
}

/// Returns every event that may end a wait, by name. The agent has a running task.
fn happenings() -> Vec<(&'static str, fn(&mut World))> {
    vec![
        ("prompt", |world| {
            world.send(prompt());
            answer(world);
        }),
        ("event of town-square", |world| drop(world.send(news()))),
        ("hint of ci", |world| drop(world.send(woken(hint("ci"))))),
        ("task", |world| end_task(world)),
        ("an hour", |world| {
            world.advance(HOUR);
            while let Some(input) = world.first_due() {
                let Input::DueCame { planned_at, .. } = &input else {
                    unreachable!("due entries come");
                };
                if *planned_at > world.now {
                    break;
                }
                world.send(input);
            }
        }),
    ]
}

#[test]
fn a_wait_for_the_operator_is_not_declared_while_their_message_is_queued() {
    let (mut world, _) = working();
    world.send(make::admit(make::prompt(Priority::Interject)));
    let before = world.results().len();
    world.send(ModelAnswer::calls(vec![wait_for(vec![WakeCondition::Operator])]).to(&world));
    assert_eq!(world.results()[before..], ["sleep_not_alone"]);
    assert_eq!(world.agent.work.active_waits, 0);
    assert!(world.stamp().is_some(), "the model reads the message");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_wait_is_ended_by_what_was_queued_when_it_began() {
    let external = |source: Option<&str>| WakeCondition::External {
        source: source.map(str::to_owned),
    };
    let bodyless = || make::admit(make::channel_event("", Priority::Normal));
    let queued: [(&str, fn() -> Input, WakeCondition); 4] = [
        ("event", news, external(Some("town-square"))),
        ("event of any source", news, external(None)),
        ("hint", || woken(hint("ci")), external(Some("ci"))),
        ("hint of any source", || woken(hint("ci")), external(None)),
    ];
    for (name, input, wake_on) in queued {
        let (mut world, id) = working();
        world.send(input());
        call(&mut world, vec![wait_for(vec![wake_on])]);
        assert_eq!(status(&world), WaitStatus::Resolved, "{name}");
        assert_eq!(world.waits[0].trigger_count, 1, "{name}");
        assert_eq!(state(&world, &id), State::Runnable, "{name}");
        assert!(world.agent.open_turn.is_some(), "{name}: it looks");
        assert_eq!(class(&world), Class::ResumeExpectedWait, "{name}");
        assert_eq!(world.violations(), [], "{name}");
    }
    for input in [news(), bodyless(), woken(hint("mail"))] {
        let (mut world, id) = working();
        world.send(input);
        call(&mut world, vec![wait_for(vec![external(Some("ci"))])]);
        assert_eq!(status(&world), WaitStatus::Active);
        assert_eq!(state(&world, &id), State::WaitingExternal);
    }
}

#[test]
fn a_queued_sign_of_life_ends_the_wait_that_names_its_source() {
    let (mut world, _) = working();
    world.send(make::admit(make::channel_event("", Priority::Normal)));
    let source = Some("town-square".to_owned());
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::External { source }])],
    );
    assert_eq!(status(&world), WaitStatus::Resolved);
    assert!(world.agent.open_turn.is_some(), "a model is told");
}

#[test]
fn a_wait_is_ended_by_what_it_names_and_by_nothing_else() {
    let external = |source: Option<&str>| WakeCondition::External {
        source: source.map(str::to_owned),
    };
    type Named = fn(&World) -> WakeCondition;
    let mut table = String::new();
    let task_of: Named = |world| WakeCondition::Task {
        task_id: world.tasks[0].id.clone(),
    };
    let wanted: Vec<(&str, Box<dyn Fn(&World) -> Vec<WakeCondition>>)> = vec![
        ("operator", Box::new(|_| vec![WakeCondition::Operator])),
        ("task", Box::new(move |world| vec![task_of(world)])),
        ("anything outside", Box::new(move |_| vec![external(None)])),
        ("ci", Box::new(move |_| vec![external(Some("ci"))])),
        (
            "half an hour",
            Box::new(|_| vec![WakeCondition::After { delay_ms: HOUR / 2 }]),
        ),
        (
            "two hours",
            Box::new(|_| vec![WakeCondition::After { delay_ms: 2 * HOUR }]),
        ),
        (
            "operator or ci",
            Box::new(move |_| vec![WakeCondition::Operator, external(Some("ci"))]),
        ),
    ];
    for (name, wake_on) in &wanted {
        let mut ended_by = Vec::new();
        for (happening, happen) in happenings() {
            let (mut world, id) = working();
            task(&mut world);
            let wake_on = wake_on(&world);
            call(&mut world, vec![wait_for(wake_on)]);
            assert_eq!(world.agent.open_turn, None, "{name}: it waits");
            happen(&mut world);
            assert_eq!(world.violations(), [], "{name} and {happening}");
            match status(&world) {
                WaitStatus::Active => {
                    assert_ne!(
                        state(&world, &id),
                        State::Runnable,
                        "{name} and {happening}"
                    );
                }
                over => {
                    ended_by.push(format!("{happening} ({})", crate::render::spelled(over)));
                    assert_eq!(
                        state(&world, &id),
                        State::Runnable,
                        "{name} and {happening}"
                    );
                    let wait = world.waits.last().expect("a wait");
                    assert_eq!((wait.trigger_count, wait.due), (1, None));
                    assert!(
                        world.agent.open_turn.is_some(),
                        "{name} and {happening}: it looks"
                    );
                    assert_eq!(
                        class(&world),
                        Class::ResumeExpectedWait,
                        "{name} and {happening}"
                    );
                }
            }
        }
        if ended_by.is_empty() {
            ended_by.push("nothing".to_owned());
        }
        table += &format!("{name}: {}\n", ended_by.join(", "));
    }
    insta::assert_snapshot!(table, @"
    operator: prompt (resolved)
    task: task (resolved)
    anything outside: event of town-square (resolved), hint of ci (resolved)
    ci: hint of ci (resolved)
    half an hour: an hour (expired)
    two hours: nothing
    operator or ci: prompt (resolved), hint of ci (resolved)
    ");
}

#[test]
fn a_message_that_no_wait_names_is_delivered_and_the_wait_stays_open() {
    let (mut world, _) = waiting(vec![WakeCondition::External {
        source: Some("ci".to_owned()),
    }]);
    world.send(news());
    assert_eq!(class(&world), Class::LocalContinuation);
    assert_eq!(status(&world), WaitStatus::Active);
    say(&mut world);
    world.send(prompt());
    assert_eq!(class(&world), Class::ResumeOverride);
    assert_eq!(status(&world), WaitStatus::Active);
}

#[test]
fn a_newer_wait_of_the_same_item_replaces_the_older_and_other_items_keep_theirs() {
    let (mut world, id) = waiting(vec![WakeCondition::After { delay_ms: HOUR }]);
    world.send(prompt());
    let other = agent_makes(&mut world);
    let of_other = NewWait {
        work_item_id: Some(other),
        ..new_wait(vec![WakeCondition::Operator])
    };
    call(&mut world, vec![("WaitFor", Ok(Intent::WaitFor(of_other)))]);
    assert_eq!(world.active_waits().count(), 2);
    world.send(prompt());
    assert_eq!(world.active_waits().count(), 2, "no word about the item");
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::External { source: None }])],
    );
    let statuses: Vec<_> = world.waits.iter().map(|wait| wait.status).collect();
    assert_eq!(
        statuses,
        [
            WaitStatus::Cancelled,
            WaitStatus::Active,
            WaitStatus::Active
        ]
    );
    assert_eq!(state(&world, &id), State::WaitingExternal);
    let of_wait = |due: &&holon_domain::timer::DueAction| {
        matches!(due, holon_domain::timer::DueAction::WaitOver { .. })
    };
    let left = world
        .due
        .values()
        .map(|(_, due)| due)
        .filter(of_wait)
        .count();
    assert_eq!(left, 0, "the entry of the older wait went with it");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_wait_gates_its_own_item_only() {
    let (mut world, _) = working();
    let other = operator_makes(&mut world, "answer the mail");
    call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]);
    let turn = world.agent.open_turn.as_ref().expect("other work goes on");
    assert_eq!(turn.work_item_id.as_ref(), Some(&other));
    assert_eq!(status(&world), WaitStatus::Active);
}

#[test]
fn at_its_time_a_wait_is_over_and_a_tick_of_its_turns_worth_says_so() {
    let (mut world, id) = waiting(vec![
        WakeCondition::External { source: None },
        WakeCondition::After { delay_ms: HOUR },
    ]);
    let planned = world.waits[0].due_at;
    world.let_due_come();
    assert_eq!(status(&world), WaitStatus::Expired);
    assert_eq!(tick_of(&world), Some("wait_over".to_owned()));
    let (words, authority) = began_with(&world);
    assert!(words.contains("the answer"), "{words}");
    assert_eq!(authority, AuthorityClass::RuntimeInstruction);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.work_item_id.as_ref(), Some(&id));
    let message = &world.messages[&turn.message_seq].entry.envelope;
    let reason = WaitingReason::AwaitingExternalChange;
    assert_eq!(message.resumes, Some(ResumeReason::Wait { reason }));
    let told = world.events.iter().rev().find_map(|event| match event {
        Event::SystemTickEmitted(tick) => Some(tick.planned_at),
        _ => None,
    });
    assert_eq!(told, planned);
}

#[test]
fn a_named_time_stands_on_the_wall_and_a_delay_is_a_pause() {
    let at = make::T0.plus_millis(HOUR);
    let (world, _) = waiting(vec![WakeCondition::Time { at }]);
    let times: Vec<DueTime> = world.due.values().map(|(time, _)| *time).collect();
    assert!(matches!(times[..], [DueTime::Slot(slot)] if slot.at == at));
    let (world, _) = waiting(vec![WakeCondition::After { delay_ms: HOUR }]);
    assert!(
        world
            .due
            .values()
            .all(|(time, _)| matches!(time, DueTime::Pause(_)))
    );
}

#[test]
fn completion_of_an_item_cancels_its_wait() {
    let (mut world, id) = waiting(vec![WakeCondition::After { delay_ms: HOUR }]);
    let work_item_id = id;
    world.send(operator(WorkCommand::Complete { work_item_id }));
    assert_eq!(status(&world), WaitStatus::Cancelled);
    assert_eq!((world.due.len(), world.agent.work.active_waits), (0, 0));
    assert_eq!(world.violations(), []);
}

#[test]
fn an_operator_or_the_agent_gives_a_wait_up_by_its_id() {
    let (mut world, id) = waiting(vec![WakeCondition::External { source: None }]);
    let wait_id = world.waits[0].id.clone();
    world.send(operator(WorkCommand::CancelWait { wait_id }));
    assert_eq!(status(&world), WaitStatus::Cancelled);
    assert_eq!(state(&world, &id), State::Runnable);
    assert_eq!(
        tick_of(&world),
        Some("work_queue".to_owned()),
        "the item goes on"
    );
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::External { source: None }])],
    );
    world.send(prompt());
    let wait_id = world.waits[1].id.clone();
    call(&mut world, vec![cancel_wait(&wait_id)]);
    assert_eq!(state(&world, &id), State::Runnable);
}

#[test]
fn the_time_of_a_stopped_agents_wait_is_made_up_for_at_its_start() {
    let (mut world, id) = waiting(vec![WakeCondition::After { delay_ms: HOUR }]);
    world.send(Input::Stop);
    world.let_due_come();
    assert_eq!(status(&world), WaitStatus::Active);
    assert_eq!(world.due.len(), 0, "nothing stays overdue");
    assert_eq!(world.violations(), []);
    world.send(Input::Start);
    let mut world = states::ready(world);
    world.let_due_come();
    assert_eq!(status(&world), WaitStatus::Expired);
    assert_eq!(tick_of(&world), Some("wait_over".to_owned()));
    assert_eq!(state(&world, &id), State::Runnable);
    assert_eq!(
        (world.agent.work.deferred, world.agent.work.catch_up),
        (0, None)
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn waits_survive_a_restart() {
    let (mut world, _) = waiting(vec![
        WakeCondition::Operator,
        WakeCondition::After { delay_ms: HOUR },
    ]);
    let before = (world.waits.clone(), world.due.clone());
    world.recover(false);
    world.recover(true);
    assert_eq!((world.waits.clone(), world.due.clone()), before);
    world.send(prompt());
    answer(&mut world);
    assert_eq!(status(&world), WaitStatus::Resolved);
}

#[test]
fn an_agent_that_waits_for_a_task_it_stopped_itself_is_woken_by_its_end() {
    let mut world = states::calling_model();
    let task_id = task(&mut world);
    call(&mut world, vec![commands::task_stop(&task_id)]);
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::Task { task_id }])],
    );
    assert!(
        world.agent.work.agent_wait.is_some(),
        "the agent itself waits"
    );
    let stopped = world.tasks[0].clone();
    world.send(commands::reported(&world, &stopped, commands::stopped()));
    assert_eq!(status(&world), WaitStatus::Resolved);
    assert_eq!(tick_of(&world), Some("wait_over".to_owned()));
    assert_eq!(class(&world), Class::ResumeExpectedWait);
}

#[test]
fn the_end_of_a_blocked_items_wait_begins_a_turn_and_the_blocker_stays() {
    let (mut world, id) = working();
    call(&mut world, vec![update(&id, blocked("no key", HOUR))]);
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::External {
            source: Some("ci".to_owned()),
        }])],
    );
    world.send(woken(hint("ci")));
    assert_eq!(status(&world), WaitStatus::Resolved);
    assert_eq!(tick_of(&world), Some("wake_hint".to_owned()));
    assert_eq!(state(&world, &id), State::Blocked);
}

#[test]
fn a_message_of_another_agent_ends_a_wait_for_something_outside() {
    let (mut world, _) = waiting(vec![WakeCondition::External { source: None }]);
    world.send(Input::Received(holon_domain::send::AgentSend::Message {
        send: 1,
        from: holon_domain::AgentId::parse("bob").expect("a name"),
        text: "it is green".to_owned(),
        priority: Priority::Normal,
        authority: AuthorityClass::RuntimeInstruction,
    }));
    assert_eq!(status(&world), WaitStatus::Resolved);
    assert_eq!(class(&world), Class::ResumeExpectedWait);
}

#[test]
fn a_wait_that_could_never_end_is_refused_and_the_turn_goes_on() {
    let (mut world, id) = working();
    let done = agent_makes(&mut world);
    call(&mut world, vec![complete(&done)]);
    let task_id = commands::unknown_task();
    let strange = |work_item_id: WorkItemId| NewWait {
        work_item_id: Some(work_item_id),
        ..new_wait(vec![WakeCondition::Operator])
    };
    let refused = [
        (
            new_wait(vec![WakeCondition::Task { task_id }]),
            "unknown_task",
        ),
        (
            new_wait(vec![WakeCondition::Time { at: world.now }]),
            "invalid_tool_input",
        ),
        (new_wait(Vec::new()), "invalid_tool_input"),
        (
            strange(WorkItemId::from_stored("work_nobody")),
            "unknown_work_item",
        ),
        (strange(done), "work_item_completed"),
    ];
    for (wait, kind) in refused {
        world.send(ModelAnswer::calls(vec![("WaitFor", Ok(Intent::WaitFor(wait)))]).to(&world));
        assert_eq!(world.results().last().map(String::as_str), Some(kind));
        assert!(world.agent.open_turn.is_some(), "{kind}");
    }
    assert_eq!(
        (world.waits.len(), state(&world, &id)),
        (0, State::Runnable)
    );
    let both = vec![wait_for(vec![WakeCondition::Operator]), make::agent_get()];
    world.send(ModelAnswer::calls(both).to(&world));
    assert_eq!(
        world.results().iter().rev().nth(1).map(String::as_str),
        Some("sleep_not_alone")
    );
}

#[test]
fn a_wait_that_is_refused_on_the_last_round_of_a_turn_ends_it() {
    let mut world = states::calling_model_for(make::bounded_prompt(1));
    let refused = wait_for(vec![WakeCondition::Time { at: world.now }]);
    world.send(ModelAnswer::calls(vec![refused]).to(&world));
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(
        world.ended_as(),
        Some(holon_domain::turn::TerminalReason::MaxRounds)
    );
}

#[test]
fn an_agent_has_a_bounded_number_of_waits_and_replacing_one_needs_no_room() {
    let (mut world, id) = working();
    let other = agent_makes(&mut world);
    let of = |id: &WorkItemId| {
        let wait = NewWait {
            work_item_id: Some(id.clone()),
            ..new_wait(vec![WakeCondition::Operator])
        };
        ("WaitFor", Ok(Intent::WaitFor(wait)))
    };
    call(&mut world, vec![of(&id)]);
    world.send(news());
    world.agent.work.active_waits = limits::ACTIVE_WAITS;
    world.send(ModelAnswer::calls(vec![of(&other)]).to(&world));
    assert_eq!(
        world.results().last().map(String::as_str),
        Some("limit_reached")
    );
    world.send(ModelAnswer::calls(vec![of(&id)]).to(&world));
    assert_eq!(world.results().last().map(String::as_str), Some("ok"));
    assert_eq!(world.agent.work.active_waits, limits::ACTIVE_WAITS);
}

/// Returns the agent as the last `AgentGet` of the log showed it.
fn shown_agent(world: &World) -> serde_json::Value {
    let found = world.log.iter().rev().find_map(|(_, entry)| match entry {
        holon_domain::log::LogEntry::ToolResult { envelope, .. }
            if envelope.tool_name == "AgentGet" =>
        {
            Some(serde_json::to_value(envelope).expect("encodes"))
        }
        _ => None,
    });
    found.expect("AgentGet has a result")["result"]["agent"].clone()
}

#[test]
fn an_agent_sees_its_waits_timers_and_item_counts() {
    let external = WakeCondition::External {
        source: Some("ci".to_owned()),
    };
    let (mut world, _) = waiting(vec![external]);
    let wait_id = world.waits[0].id.clone();
    let timer = new_timer(TimerSchedule::Once {
        at: world.now.plus_millis(HOUR),
    });
    world.send(operator(WorkCommand::CreateTimer(timer)));
    world.send(prompt());
    call(&mut world, vec![make::agent_get()]);
    let shown = shown_agent(&world);
    for name in ["waiting_intents", "active_waiting_intents"] {
        assert_eq!(shown[name][0]["id"], wait_id.as_str(), "{name}");
        assert_eq!(shown[name].as_array().map(Vec::len), Some(1), "{name}");
    }
    assert_eq!(shown["timers"][0]["id"], world.timers[0].id.as_str());
    assert_eq!(shown["active_timer_count"], 1);
    assert_eq!(shown["work_item_counts"]["waiting_external"], 1);
    call(&mut world, vec![cancel_wait(&wait_id), make::agent_get()]);
    let shown = shown_agent(&world);
    assert_eq!(shown["active_waiting_intents"], serde_json::json!([]));
}

#[test]
fn an_agent_is_told_that_its_own_wait_was_cancelled() {
    let mut world = states::calling_model();
    let wait = wait_for(vec![WakeCondition::External { source: None }]);
    call(&mut world, vec![wait]);
    assert_eq!(world.waits[0].work_item_id, None, "the agent itself waits");
    let wait_id = world.waits[0].id.clone();
    world.send(operator(WorkCommand::CancelWait { wait_id }));
    assert_eq!(tick_of(&world), Some("wait_over".to_owned()));
    assert_eq!(world.violations(), []);
}

#[test]
fn a_wait_that_names_the_operator_anywhere_is_one_for_the_operator() {
    let time = WakeCondition::After { delay_ms: 1_000 };
    let (world, id) = waiting(vec![time, WakeCondition::Operator]);
    assert_eq!(world.waits[0].kind, WaitKind::Operator);
    assert_eq!(state(&world, &id), State::WaitingOperator);
}

#[test]
fn an_item_that_waits_again_or_is_done_has_no_word_of_an_older_wait() {
    let calls: [(&str, fn(&WorkItemId) -> PlannedCall); 2] = [
        ("wait", |_| wait_for(vec![WakeCondition::Operator])),
        ("complete", complete),
    ];
    for (name, word) in calls {
        let (mut world, id) = waiting(vec![WakeCondition::External { source: None }]);
        world.send(prompt());
        let wait_id = world.waits[0].id.clone();
        world.send(operator(WorkCommand::CancelWait { wait_id }));
        assert!(item(&world, &id).ended_wait.is_some(), "{name}");
        call(&mut world, vec![word(&id)]);
        assert_eq!(item(&world, &id).ended_wait, None, "{name}");
        assert_eq!(world.violations(), [], "{name}");
    }
}

#[test]
fn the_turn_of_a_message_about_an_item_is_told_that_its_wait_ended_and_no_tick_repeats_it() {
    let (mut world, id) = waiting(vec![WakeCondition::External { source: None }]);
    world.send(prompt());
    let wait_id = world.waits[0].id.clone();
    world.send(operator(WorkCommand::CancelWait {
        wait_id: wait_id.clone(),
    }));
    let about = Ingress {
        kind: MessageKind::SystemTick,
        origin: Origin::System {
            subsystem: "test".to_owned(),
        },
        metadata: Some(serde_json::json!({ "work_item_id": id })),
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        ..make::prompt(Priority::Normal)
    };
    world.send(make::admit(about));
    say(&mut world);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    let told: Vec<_> = turn.waits.iter().map(|note| note.wait_id.clone()).collect();
    assert_eq!(told, [wait_id]);
    assert_eq!(item(&world, &id).ended_wait, None);
    assert_eq!(world.violations(), []);
}
