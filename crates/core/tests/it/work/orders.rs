//! Tests of orders: the operator's words stand beside what their turn makes.

use super::timers::{MINUTE, once};
use super::*;
use holon_domain::agent::ORDER_BYTES;
use holon_domain::message::{AdmissionContext, DeliverySurface};

fn asks(words: &str, priority: Priority) -> Input {
    make::admit(holon_core::Ingress::operator_prompt(
        words.to_owned(),
        priority,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    ))
}

fn create_timer() -> PlannedCall {
    let new = once(make::T0.plus_millis(MINUTE));
    let intent = Intent::Work(WorkIntent::CreateTimer(new));
    ("CreateTimer", Ok(intent))
}

fn timer_orders(world: &World) -> Vec<Option<&str>> {
    let timers = world.timers.iter();
    timers.map(|timer| timer.order.as_deref()).collect()
}

#[test]
fn what_a_turn_makes_keeps_the_words_of_its_operator() {
    let mut world = states::idle();
    world.send(asks("Watch the nightly build.", Priority::Normal));
    call(&mut world, vec![create_timer()]);
    agent_makes(&mut world);
    call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]);
    let order = Some("Watch the nightly build.");
    assert_eq!(timer_orders(&world), [order]);
    let items: Vec<Option<&str>> = world
        .items
        .values()
        .map(|item| item.order.as_deref())
        .collect();
    assert_eq!(items, [order]);
    let waits: Vec<Option<&str>> = world
        .waits
        .iter()
        .map(|wait| wait.order.as_deref())
        .collect();
    assert_eq!(waits, [order]);
}

#[test]
fn words_that_joined_the_turn_are_the_newer_order() {
    let mut world = states::idle();
    world.send(asks("Look at it.", Priority::Normal));
    world.send(asks("And watch it.", Priority::Interject));
    let held = world.interjections();
    world.send(
        ModelAnswer::calls(vec![create_timer()])
            .after(held)
            .to(&world),
    );
    assert_eq!(timer_orders(&world), [Some("And watch it.")]);
}

#[test]
fn a_turn_without_an_operator_has_no_order_and_long_words_are_cut() {
    let mut world = states::idle();
    world.send(prompt());
    say(&mut world);
    world.send(news());
    call(&mut world, vec![create_timer()]);
    assert_eq!(timer_orders(&world), [None]);
    let mut world = states::idle();
    world.send(asks(&"word ".repeat(400), Priority::Normal));
    call(&mut world, vec![create_timer()]);
    let order = timer_orders(&world)[0].map_or(0, str::len);
    assert!(order > ORDER_BYTES / 2 && order <= ORDER_BYTES, "{order}");
}

#[test]
fn what_an_operator_makes_with_a_command_has_no_words() {
    let mut world = states::idle();
    world.send(asks("Look at it.", Priority::Normal));
    let at = make::T0.plus_millis(MINUTE);
    world.send(operator(WorkCommand::CreateTimer(once(at))));
    assert_eq!(timer_orders(&world), [None]);
}
