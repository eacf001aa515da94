//! Tests of waits for an operator: what answers them, what only interrupts them, and what the agent is told.

use super::*;
use holon_core::assess::{AssessmentInput, assess};
use holon_core::input::AfterAbort;
use holon_domain::authority::AuthorityClass;
use holon_domain::brief::BriefText;
use holon_domain::closure::WaitingReason;
use holon_domain::message::Body;
use holon_domain::summary::Posture;
use holon_domain::turn::TerminalReason;
use holon_domain::wait::{WaitEffect, WaitNote, WaitQuestion, WaitRecord, WaitStatus};
use holon_domain::work_item::WorkItemSchedulingState as State;

fn wait(world: &World) -> &WaitRecord {
    world.waits.last().expect("a wait")
}

fn asking(world: &mut World, question: WaitQuestion) {
    let wait = NewWait {
        question: Some(question),
        ..new_wait(vec![WakeCondition::Operator])
    };
    call(world, vec![("WaitFor", Ok(Intent::WaitFor(wait)))]);
}

fn yes_or_no() -> WaitQuestion {
    WaitQuestion {
        text: "Shall I go on with step 2?".to_owned(),
        choices: vec!["yes".to_owned(), "no".to_owned()],
        any_message: false,
    }
}

fn saying(words: &str) -> Input {
    let mut ingress = make::prompt(Priority::Normal);
    ingress.body = Body::text(words);
    make::admit(ingress)
}

/// Returns what the open turn was told about waits.
fn notes(world: &World) -> Vec<WaitNote> {
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    turn.waits.clone()
}

/// Lets the messages that interject join the open turn.
fn join(world: &mut World) {
    let held = world.interjections();
    assert_eq!(held.len(), 1, "a message interjects");
    let round = ModelAnswer::calls(vec![make::agent_get()]);
    world.send(round.after(held).to(world));
}

fn effects(world: &World) -> Vec<WaitEffect> {
    notes(world).into_iter().map(|note| note.effect).collect()
}

#[test]
fn the_operator_reads_the_reason_of_a_wait_beside_its_question_once() {
    const REASON: &str = "your word about the release, then I publish it";
    let cases = [
        ("The tests pass.", REASON, 1),
        (
            "I need your word about the release, then I publish it.",
            REASON,
            1,
        ),
        ("", REASON, 1),
        ("The tests pass.", "Shall I go on with step 2?", 0),
    ];
    for (words, reason, times) in cases {
        let mut world = states::calling_model();
        let new = NewWait {
            reason: reason.to_owned(),
            question: Some(yes_or_no()),
            ..new_wait(vec![WakeCondition::Operator])
        };
        let said = ModelAnswer {
            words,
            ..ModelAnswer::calls(vec![("WaitFor", Ok(Intent::WaitFor(new)))])
        };
        world.send(said.to(&world));
        let brief = world.briefs.last().expect("the outcome of the turn");
        let action = brief.action_required.as_ref().expect("it asks");
        let text = match &brief.text {
            BriefText::Words(text) => text.clone(),
            BriefText::Round(_) | BriefText::Report(_) => words.to_owned(),
        };
        let read = format!("{text}\n\n{}", action.next_step);
        assert_eq!(
            read.matches("Shall I go on with step 2?").count(),
            1,
            "{read}"
        );
        assert_eq!(read.matches(REASON).count(), times, "{read}");
        assert_eq!(read.matches(wait(&world).id.as_str()).count(), 1, "{read}");
    }
}

#[test]
fn an_unrelated_prompt_leaves_the_question_of_an_item_standing() {
    let (mut world, id) = waiting(vec![WakeCondition::Operator]);
    world.send(saying("what is the weather?"));
    assert_eq!(effects(&world), [WaitEffect::Interrupted]);
    assert_eq!(notes(&world)[0].waiting_for, "the answer");
    assert_eq!(
        wait(&world).status,
        WaitStatus::Active,
        "until it is decided"
    );
    say(&mut world);
    assert_eq!(world.agent.open_turn, None, "no tick pushes the agent on");
    assert_eq!(wait(&world).status, WaitStatus::Active);
    assert_eq!(state(&world, &id), State::WaitingOperator);
    let note = world.briefs.last().and_then(|brief| brief.note.clone());
    let note = note.expect("the operator is told");
    assert!(note.contains("the answer"), "{note}");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_call_about_the_item_takes_the_message_as_the_answer() {
    let words: [(&str, fn(&WorkItemId) -> PlannedCall, WaitStatus); 4] = [
        ("pick", pick, WaitStatus::Resolved),
        (
            "update",
            |id| update(id, objective("mend it all")),
            WaitStatus::Resolved,
        ),
        ("complete", complete, WaitStatus::Resolved),
        (
            "wait",
            |_| wait_for(vec![WakeCondition::Operator]),
            WaitStatus::Active,
        ),
    ];
    for (name, word, newest) in words {
        let (mut world, id) = waiting(vec![WakeCondition::Operator]);
        world.send(prompt());
        call(&mut world, vec![word(&id)]);
        let first = &world.waits[0];
        assert_eq!(first.status, WaitStatus::Resolved, "{name}");
        assert_eq!(first.trigger_count, 1, "{name}");
        assert_eq!(wait(&world).status, newest, "{name}");
        assert_eq!(world.violations(), [], "{name}");
    }
}

#[test]
fn a_call_about_another_item_is_no_answer() {
    let (mut world, id) = waiting(vec![WakeCondition::Operator]);
    world.send(prompt());
    let other = agent_makes(&mut world);
    call(
        &mut world,
        vec![update(&other, objective("something else"))],
    );
    say(&mut world);
    assert_eq!(world.waits[0].status, WaitStatus::Active);
    assert_eq!(state(&world, &id), State::WaitingOperator);
}

#[test]
fn a_failed_turn_decides_nothing() {
    let (mut world, _) = waiting(vec![WakeCondition::Operator]);
    world.send(prompt());
    world.send(Input::Abort {
        run_id: None,
        then: AfterAbort::GoOn,
    });
    assert_eq!(world.ended_as(), Some(TerminalReason::OperatorAborted));
    assert_eq!(wait(&world).status, WaitStatus::Active);
}

/// Returns worlds whose agent itself waits for any message of an operator: with a question, and without one.
fn own_waits() -> [World; 2] {
    let any = WaitQuestion {
        choices: Vec::new(),
        any_message: true,
        ..yes_or_no()
    };
    [Some(any), None].map(|question| {
        let mut world = states::calling_model();
        match question {
            Some(question) => asking(&mut world, question),
            None => call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]),
        }
        assert_eq!(wait(&world).work_item_id, None, "no item has the focus");
        world
    })
}

#[test]
fn an_unrelated_prompt_leaves_the_question_of_the_agent_itself_standing() {
    for mut world in own_waits() {
        let asked = wait(&world).asks_for().to_owned();
        for words in ["what is the weather?", "and tomorrow?"] {
            world.send(saying(words));
            assert_eq!(effects(&world), [WaitEffect::Interrupted], "{asked}");
            say(&mut world);
            assert_eq!(wait(&world).status, WaitStatus::Active, "{asked}");
            assert_eq!(world.agent.open_turn, None, "no tick pushes the agent on");
            let note = world.briefs.last().and_then(|brief| brief.note.clone());
            let note = note.expect("the operator is told");
            assert!(note.contains(&asked), "{note}");
        }
        let assessment = assess(AssessmentInput::new(&world.agent, &world.queue()));
        assert_eq!(assessment.posture.posture, Posture::WaitingForOperator);
        let closure = assessment.closure.expect("no turn runs");
        assert_eq!(
            closure.waiting_reason,
            Some(WaitingReason::AwaitingOperatorInput)
        );
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn an_agent_takes_a_message_as_the_answer_to_its_own_wait_by_giving_it_up_or_waiting_anew() {
    for mut world in own_waits() {
        world.send(saying("go on"));
        let id = wait(&world).id.clone();
        call(&mut world, vec![cancel_wait(&id)]);
        say(&mut world);
        assert_eq!(wait(&world).status, WaitStatus::Cancelled);
        assert_eq!(world.agent.work.agent_wait, None);
        assert_eq!(world.violations(), []);
    }
    for mut world in own_waits() {
        world.send(saying("go on"));
        call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]);
        assert_eq!(world.waits[0].status, WaitStatus::Resolved);
        assert_eq!(world.waits[0].trigger_count, 1);
        assert_eq!(wait(&world).status, WaitStatus::Active);
        assert_eq!(world.waits.len(), 2);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn an_operator_who_names_the_agents_own_wait_ends_it() {
    for mut world in own_waits() {
        let name = wait(&world).id.to_string();
        world.send(saying(&format!("{name}: yes")));
        assert_eq!(effects(&world), [WaitEffect::Ended]);
        assert_eq!(wait(&world).status, WaitStatus::Resolved);
    }
}

#[test]
fn a_question_is_ended_by_its_choice_or_its_name_alone() {
    let (mut world, id) = working();
    asking(&mut world, yes_or_no());
    world.send(saying("how far are you?"));
    assert_eq!(effects(&world), [WaitEffect::LeftOpen]);
    call(&mut world, vec![pick(&id)]);
    say(&mut world);
    assert_eq!(
        wait(&world).status,
        WaitStatus::Active,
        "a pick does not answer it"
    );
    world.send(saying(" Yes "));
    assert_eq!(effects(&world), [WaitEffect::Ended]);
    assert_eq!(wait(&world).status, WaitStatus::Resolved);
    assert_eq!(state(&world, &id), State::Runnable);

    let (mut world, _) = working();
    asking(&mut world, yes_or_no());
    let name = wait(&world).id.to_string();
    world.send(saying(&format!("{name}: only the first half")));
    assert_eq!(wait(&world).status, WaitStatus::Resolved);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_message_that_joins_a_turn_interrupts_as_one_that_opens_it() {
    let (mut world, id) = waiting(vec![WakeCondition::Operator]);
    world.send(news());
    world.send(make::admit(make::prompt(Priority::Interject)));
    join(&mut world);
    call(&mut world, vec![pick(&id)]);
    assert_eq!(wait(&world).status, WaitStatus::Resolved);
    assert_eq!(world.violations(), []);
}

#[test]
fn every_input_that_ended_a_wait_says_so() {
    let external = || vec![WakeCondition::External { source: None }];
    let (mut world, _) = waiting(external());
    world.send(news());
    assert_eq!(effects(&world), [WaitEffect::Ended], "event");
    let (mut world, _) = waiting(external());
    world.send(woken(hint("ci")));
    assert_eq!(effects(&world), [WaitEffect::Ended], "hint");
    let (mut world, _) = working();
    let task_id = task(&mut world);
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::Task { task_id }])],
    );
    end_task(&mut world);
    assert_eq!(effects(&world), [WaitEffect::Ended], "task");
    let (mut world, _) = waiting(external());
    let wait_id = wait(&world).id.clone();
    world.send(operator(WorkCommand::CancelWait { wait_id }));
    assert_eq!(tick_of(&world), Some("work_queue".to_owned()));
    assert_eq!(
        effects(&world),
        [WaitEffect::Ended],
        "the next tick of the item"
    );
    let (mut world, _) = waiting(external());
    world.send(prompt());
    assert_eq!(effects(&world), [], "a prompt that it did not ask for");
}

#[test]
fn a_turn_is_about_an_item_only_if_its_input_or_a_call_names_it() {
    let (mut world, id) = waiting(vec![WakeCondition::External { source: None }]);
    let bound = |world: &World| {
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        turn.work_item_id.clone()
    };
    world.send(prompt());
    assert_eq!(bound(&world), None, "a prompt names no item");
    call(&mut world, vec![update(&id, objective("mend it all"))]);
    assert_eq!(bound(&world), Some(id.clone()), "a call does");
    say(&mut world);
    let brief = world.briefs.last().map(|brief| brief.work_item_id.clone());
    assert_eq!(brief, Some(Some(id)));
    world.send(prompt());
    say(&mut world);
    let brief = world.briefs.last().map(|brief| brief.work_item_id.clone());
    assert_eq!(brief, Some(None), "the focus alone does not");
}

#[test]
fn an_item_that_a_joined_prompt_asked_for_is_made_under_the_operators_instruction() {
    let (mut world, _) = ticked();
    world.send(make::admit(make::prompt(Priority::Interject)));
    join(&mut world);
    let made = agent_makes(&mut world);
    let provenance = &item(&world, &made).provenance;
    assert_eq!(provenance.authority, AuthorityClass::OperatorInstruction);
    let asked = world
        .messages
        .values()
        .last()
        .map(|message| message.entry.envelope.id.clone());
    assert_eq!(provenance.message_id, asked);
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    world.send(make::admit(make::prompt(Priority::Interject)));
    join(&mut world);
    let made = agent_makes(&mut world);
    assert_eq!(
        item(&world, &made).provenance.authority,
        AuthorityClass::ExternalEvidence,
        "the event could be the reason as well"
    );
}

#[test]
fn no_tick_for_open_work_pushes_an_agent_past_its_own_question() {
    let mut world = states::calling_model();
    let id = agent_makes(&mut world);
    asking(&mut world, yes_or_no());
    assert_eq!(wait(&world).work_item_id, None, "no item has the focus");
    assert_eq!(world.agent.open_turn, None, "no tick begins a turn");
    let assessment = assess(AssessmentInput::new(&world.agent, &world.queue()));
    assert_eq!(assessment.posture.posture, Posture::WaitingForOperator);
    assert!(
        assessment.posture.reason.contains("held back"),
        "{}",
        assessment.posture.reason
    );
    let closure = assessment.closure.expect("no turn runs");
    assert_eq!(
        closure.waiting_reason,
        Some(WaitingReason::AwaitingOperatorInput)
    );
    // Another message opens a turn, and the question stands after it.
    world.send(saying("what is the weather?"));
    say(&mut world);
    assert_eq!(wait(&world).status, WaitStatus::Active);
    assert_eq!(world.agent.open_turn, None, "the question still holds");
    world.send(saying("yes"));
    assert_eq!(wait(&world).status, WaitStatus::Resolved);
    say(&mut world);
    assert_eq!(tick_of(&world), Some("work_queue".to_owned()));
    assert_eq!(state(&world, &id), State::Runnable);
    assert_eq!(world.violations(), []);
}

#[test]
fn what_ends_a_wait_for_an_operator_is_said_as_it_is() {
    let (mut world, _) = working();
    asking(&mut world, yes_or_no());
    let name = wait(&world).id.to_string();
    let words = wait(&world).answer_words();
    assert!(
        words.contains("yes / no") && words.contains(&name),
        "{words}"
    );
    let free = WaitQuestion {
        choices: Vec::new(),
        ..yes_or_no()
    };
    let (mut world, _) = working();
    asking(&mut world, free);
    let name = wait(&world).id.to_string();
    assert_eq!(
        wait(&world).answer_words(),
        format!("a message of the operator that contains {name}")
    );
    let (world, _) = waiting(vec![WakeCondition::Operator]);
    assert_eq!(wait(&world).answer_words(), "a message of the operator");
}

#[test]
fn a_prompt_below_an_operators_authority_ends_and_interrupts_no_wait() {
    let lowered = |words: &str, at_most| {
        let mut ingress = make::prompt(Priority::Normal);
        ingress.body = Body::text(words);
        ingress.at_most = Some(at_most);
        make::admit(ingress)
    };
    for at_most in [
        AuthorityClass::RuntimeInstruction,
        AuthorityClass::IntegrationSignal,
        AuthorityClass::ExternalEvidence,
    ] {
        let (mut world, id) = working();
        asking(&mut world, yes_or_no());
        let name = wait(&world).id.to_string();
        for words in ["yes", name.as_str()] {
            world.send(lowered(words, at_most));
            assert_eq!(effects(&world), [WaitEffect::LacksAuthority], "{at_most:?}");
            assert_eq!(wait(&world).status, WaitStatus::Active, "{at_most:?}");
            call(&mut world, vec![pick(&id)]);
            say(&mut world);
            assert_eq!(wait(&world).status, WaitStatus::Active, "{at_most:?}");
        }
        assert_eq!(state(&world, &id), State::WaitingOperator);

        let (mut world, id) = waiting(vec![WakeCondition::Operator]);
        world.send(lowered("go on", at_most));
        assert_eq!(effects(&world), [WaitEffect::LacksAuthority], "{at_most:?}");
        call(&mut world, vec![pick(&id)]);
        say(&mut world);
        assert_eq!(wait(&world).status, WaitStatus::Active, "{at_most:?}");
        assert_eq!(world.violations(), []);
    }
}
