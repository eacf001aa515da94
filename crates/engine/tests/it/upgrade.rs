//! A store of the build before agents' rows were split. It opens, and its open turns and tasks are resumed. The fixture
//! was made by that build: a host was killed while its agents were working.
//!
//! - `asks` waits for its model, with a second prompt behind it;
//! - `runs` waits for a command of its round, while another runs as a task and a prompt waits;
//! - `fails` pauses after two failed attempts, which are stored inside its row;
//! - `rests` sleeps until a time that has passed since, `done` is stopped, `main` never ran.

use crate::house::{House, agent, at_rest, briefs, events, prompt, status};
use holon_domain::agent::AgentStatus;
use holon_domain::brief::BriefKind;
use holon_domain::event::Event;
use holon_domain::model::ModelFailureKind;
use holon_domain::task::TaskStatus;
use holon_engine::Host;
use holon_testkit::ports::{failure, says};

const STORE: &[u8] = include_bytes!("../fixtures/store_version_3.sqlite3.gz");

/// Answers all agents until these rest; the model of `fails` keeps failing.
async fn answer_all(house: &House, host: &Host, names: &[&str]) {
    let answering = async {
        loop {
            let asked = house.model.next().await;
            if asked.request.model.to_string().contains("failing") {
                asked.answer(Err(failure(ModelFailureKind::Auth)));
            } else {
                asked.answer(says("at last"));
            }
        }
    };
    let resting = async {
        for name in names {
            at_rest(host, name).await;
        }
    };
    tokio::select! {
        () = answering => {}
        () = resting => {}
    }
}

#[tokio::test]
async fn a_store_of_the_build_before_is_opened_and_its_open_work_goes_on() {
    let house = House::with_store(STORE);
    let host = house.start().await;
    assert_eq!(
        status(&host, "done").await.agent.status,
        AgentStatus::Stopped
    );
    let command = house.commands.next().await;
    assert_eq!(
        command.cmd(),
        "sleep 1001",
        "the call is read from its round"
    );
    command.ends("slept");
    house.clock.advance(7_200_000);
    answer_all(&house, &host, &["asks", "runs", "fails", "main"]).await;

    let told = briefs(&host, "asks", 1).await;
    let settled: usize = told.iter().map(|brief| brief.settles.len()).sum();
    assert_eq!(settled, 2, "both prompts are answered");
    let told = briefs(&host, "runs", 1).await;
    assert!(told.iter().all(|brief| brief.kind == BriefKind::Result));
    house.task_is("runs", TaskStatus::Interrupted).await;
    // The third attempt fails too, and the next model of the chain answers.
    assert_eq!(briefs(&host, "fails", 1).await[0].text, "at last");
    let told = events(&host, "fails").await;
    let failed = told.iter().find_map(|event| match event {
        Event::ProviderRoundCompleted(round) => Some(round.tries.failed.len()),
        _ => None,
    });
    assert_eq!(failed, Some(3), "the tries of the old build count");

    host.control()
        .start_agent(&agent("done"))
        .await
        .expect("starts");
    prompt(&host, "done", "go on").await;
    let has_home = |name: &str| {
        let ensured = house.homes.ensured.lock().expect("no holder panics");
        ensured.contains(&agent(name))
    };
    assert!(!has_home("main"), "it has had no turn");
    prompt(&host, "main", "hello").await;
    answer_all(&house, &host, &["done", "main"]).await;
    assert!(has_home("main"), "a build made it runnable without a home");
    answer_all(&house, &host, &["rests"]).await;
    assert_eq!(status(&host, "rests").await.agent.turn_index, 2, "it woke");
    for name in ["asks", "runs", "fails", "rests", "done", "main"] {
        house.is_sound(name).await;
    }
}
