//! Tool calls about tasks: reading the output of a task and writing to it.

use crate::house::{House, briefs, interject, prompt};
use crate::talk::{interjected, results, with_task, with_task_of};
use holon_domain::limits::CALLS_PER_ROUND;
use holon_domain::model::{ModelFailure, ModelReply, ModelRequest};
use holon_domain::task::TaskStatus;
use holon_engine::Host;
use holon_testkit::ports::{FakeCommand, PendingCall, calls, says};
use serde_json::{Value, json};

type PendingModelCall = PendingCall<ModelRequest, Result<ModelReply, ModelFailure>>;

/// Makes the agent run one call in a turn of its own.
async fn call(house: &House, host: &Host, name: &str, input: Value) {
    prompt(host, "main", "look after it").await;
    house.model.next().await.answer(calls(&[(name, input)]));
}

/// The next request, and the result of the turn's one call in it.
async fn result(house: &House) -> (PendingModelCall, String) {
    let asked = house.model.next().await;
    let [told] = results(&asked.request).try_into().expect("one result");
    (asked, told)
}

fn output_of(task: &FakeCommand, more: &Value) -> Value {
    let mut input = json!({ "task_id": task.name() });
    let fields = input.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    input
}

#[tokio::test]
async fn a_look_at_a_task_waits_for_its_end() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    let input = output_of(&task, &json!({ "timeout_ms": 60_000 }));
    call(&house, &host, "TaskOutput", input).await;
    house.clock.slept_towards(60_000).await;
    assert!(house.model.is_quiet().await);
    task.ends("built");
    let (asked, told) = result(&house).await;
    let first = format!("task {} completed: exit 0", task.name());
    assert!(told.starts_with(&first) && told.contains("built"), "{told}");
    assert_eq!(
        interjected(&asked.request).len(),
        1,
        "the result itself comes too"
    );
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_look_at_a_task_waits_no_longer_than_it_may() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    task.prints("compiling");
    let input = output_of(&task, &json!({ "timeout_ms": 60_000 }));
    call(&house, &host, "TaskOutput", input).await;
    house.clock.slept_towards(60_000).await;
    house.clock.advance(59_999);
    assert!(house.model.is_quiet().await);
    house.clock.advance(1);
    let (asked, told) = result(&house).await;
    let first = format!("task {} running for 1 min", task.name());
    assert!(told.starts_with(&first), "{told}");
    assert!(told.contains("compiling"), "{told}");
    assert!(
        told.contains("next: after_byte=9 stderr_after_byte=0"),
        "{told}"
    );
    asked.answer(says("not yet"));
    briefs(&host, "main", 2).await;
    assert_eq!(task.followers(), (0, 1), "its watch is not disturbed");
}

#[tokio::test]
async fn a_look_at_a_task_does_not_keep_an_operator_waiting() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    call(&house, &host, "TaskOutput", output_of(&task, &json!({}))).await;
    house.clock.slept_towards(30_000).await;
    interject(&host, "main", "never mind").await;
    let (asked, told) = result(&house).await;
    assert!(told.contains("running for"), "{told}");
    assert!(told.contains("was broken off"), "{told}");
    let [words] = interjected(&asked.request).try_into().expect("one");
    assert!(words.contains("never mind"), "{words}");
}

#[tokio::test]
async fn a_look_from_an_offset_on_reads_only_what_is_new_and_at_once() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    task.prints("one two");
    task.complains("warning: three");
    let input = output_of(&task, &json!({ "after_byte": 4, "stderr_after_byte": 9 }));
    call(&house, &host, "TaskOutput", input).await;
    let (_asked, told) = result(&house).await;
    assert!(told.contains("two") && !told.contains("one"), "{told}");
    assert!(
        told.contains("three") && !told.contains("warning"),
        "{told}"
    );
    assert!(
        told.contains("next: after_byte=7 stderr_after_byte=14"),
        "{told}"
    );
    let [look] = task.looks().try_into().expect("one look");
    assert_eq!(
        (look.after_byte, look.stderr_after_byte, look.wait_ms),
        (Some(4), Some(9), None)
    );
}

#[tokio::test]
async fn a_look_that_a_crash_cut_off_is_taken_again() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    call(&house, &host, "TaskOutput", output_of(&task, &json!({}))).await;
    house.clock.slept_towards(30_000).await;
    let house = house.after_crash();
    let _host = house.start().await;
    task.ends("built");
    let (_asked, told) = result(&house).await;
    assert!(
        told.contains("completed") && told.contains("built"),
        "{told}"
    );
}

#[tokio::test]
async fn what_is_written_to_a_task_reaches_it_in_order_and_numbered() {
    let house = House::new();
    let command = json!({ "cmd": "python3 -i", "yield_time_ms": 0, "accepts_input": true });
    let (host, task) = with_task_of(&house, command).await;
    prompt(&host, "main", "compute").await;
    let write = |input: &str| {
        (
            "TaskInput",
            json!({ "task_id": task.name(), "input": input }),
        )
    };
    let close = json!({ "task_id": task.name(), "input": "", "close_input": true });
    let round = calls(&[write("1 + 1\n"), write("2 + 2\n"), ("TaskInput", close)]);
    house.model.next().await.answer(round);
    let asked = house.model.next().await;
    let told = results(&asked.request);
    assert!(
        told[0].starts_with("wrote 6 bytes to the standard input"),
        "{told:?}"
    );
    assert!(told[2].contains("closed now"), "{told:?}");
    let given = task.given();
    let texts: Vec<&str> = given.iter().map(|input| input.input.as_str()).collect();
    assert_eq!(texts, ["1 + 1\n", "2 + 2\n", ""]);
    assert!(given[2].close_input && !given[1].close_input);
    let numbers: Vec<u64> = given.iter().map(|input| input.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    asked.answer(calls(&[write("3 + 3\n")]));
    house.model.next().await.answer(says("computed"));
    briefs(&host, "main", 2).await;
    let last = task.given()[3].number;
    assert!(last / CALLS_PER_ROUND as u64 > numbers[2] / CALLS_PER_ROUND as u64);
}

#[tokio::test]
async fn input_that_a_task_does_not_take_is_an_answer_with_the_reason() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    let write = json!({ "task_id": task.name(), "input": "y\n" });
    call(&house, &host, "TaskInput", write.clone()).await;
    let (asked, told) = result(&house).await;
    assert!(
        told.contains("took no input") && told.contains("accepts_input or tty"),
        "{told}"
    );
    asked.answer(says("it asks nothing"));
    briefs(&host, "main", 2).await;
    task.ends("");
    house.model.next().await.answer(says("it ended"));
    briefs(&host, "main", 3).await;
    house.task_is("main", TaskStatus::Completed).await;
    call(&house, &host, "TaskInput", write).await;
    let (_asked, told) = result(&house).await;
    assert!(told.contains("the task is over"), "{told}");
    assert!(task.given().is_empty());
}

#[tokio::test]
async fn a_refusal_of_the_program_itself_and_an_unknown_task_are_told_as_they_are() {
    let house = House::new();
    let command = json!({ "cmd": "cat", "yield_time_ms": 0, "accepts_input": true });
    let (host, task) = with_task_of(&house, command).await;
    task.refuses_input("its input is closed");
    prompt(&host, "main", "write").await;
    let missing = "task_00000000000000000009";
    let round = calls(&[
        ("TaskInput", json!({ "task_id": task.name(), "input": "x" })),
        ("TaskInput", json!({ "task_id": missing, "input": "x" })),
        ("TaskOutput", json!({ "task_id": missing })),
        ("TaskStatus", json!({ "task_id": missing })),
        ("TaskStop", json!({ "task_id": missing })),
    ]);
    house.model.next().await.answer(round);
    let asked = house.model.next().await;
    let told = results(&asked.request);
    assert!(
        told[0].contains("took no input: its input is closed"),
        "{told:?}"
    );
    for unknown in &told[1..] {
        assert!(unknown.contains("unknown_task"), "{unknown}");
        assert!(unknown.contains(missing), "{unknown}");
    }
}

#[tokio::test]
async fn input_that_a_crash_cut_off_is_repeated_with_its_number_and_given_once() {
    let house = House::new();
    let command = json!({ "cmd": "cat", "yield_time_ms": 0, "accepts_input": true });
    let (host, task) = with_task_of(&house, command).await;
    task.takes_input_in_silence(true);
    let write = json!({ "task_id": task.name(), "input": "once\n" });
    call(&house, &host, "TaskInput", write).await;
    task.asked_to_take(1).await;
    let house = house.after_crash();
    task.takes_input_in_silence(false);
    let _host = house.start().await;
    let (_asked, told) = result(&house).await;
    assert!(told.starts_with("wrote 5 bytes"), "{told}");
    let numbers = task.asked_to_take(2).await;
    assert_eq!(numbers[0], numbers[1], "the same number");
    assert_eq!(task.given().len(), 1);
}
