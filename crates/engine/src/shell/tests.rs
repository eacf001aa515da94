//! What has room while the writer's inbox is full of clients, and what waits for whom.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::boot::tests::ports::QuietPorts;
use super::boot::tests::{new_agent, quiet_ports, shell};
use super::{Sender, Shell};
use crate::control::ControlHandle;
use crate::error::Error;
use crate::request::RunRequest;
use crate::{Conduct, Host, HostConfig};
use holon_core::{Input, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::delivery::DeliveryRoute;
use holon_domain::limits::READERS;
use holon_domain::message::AdmissionContext;
use holon_domain::model::{ModelChain, ModelRef};
use holon_domain::{AgentId, TargetId};
use holon_store::{Db, Readers, WriteError, WriteOrder, commit};
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::oneshot;

/// Guards against a wait without end; no test comes near it.
const LONGEST: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONGEST, awaited)
        .await
        .expect("it goes on")
}

/// A shell with the agent `main`.
pub(crate) async fn shell_with_main(dir: &Path) -> (Shell, AgentId) {
    let (quiet, _requests) = QuietPorts::new();
    let shell = shell(dir, &quiet);
    let id = add(&shell, "main").await;
    (shell, id)
}

/// Makes an agent, and returns once it rests.
async fn add(shell: &Shell, name: &str) -> AgentId {
    let id = AgentId::parse(name).unwrap();
    let mut news = shell.store.subscribe_to(&id);
    shell.create(new_agent(&id)).await.unwrap();
    while shell.store.agent(&id).await.unwrap().unwrap().lifecycle != Lifecycle::Runnable {
        news.recv().await.unwrap();
    }
    id
}

pub(crate) fn control(shell: &Shell, dir: &Path) -> ControlHandle {
    let readers = Readers::open(&dir.join("holon.sqlite3")).unwrap();
    let default = AgentId::parse("main").unwrap();
    ControlHandle::new(shell.clone(), readers, "/agents".to_owned(), default)
}

/// Holds up the writer and fills its inbox with clients. Dropping the sender lets the writer go on.
pub(crate) async fn fill_inbox(shell: &Shell) -> mpsc::Sender<()> {
    let (begun, has_begun) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let (store, mut begun) = (Arc::clone(&shell.store), Some(begun));
    tokio::spawn(async move {
        let held = commit(store.as_ref(), WriteOrder::runtime(0), move |_| {
            if let Some(begun) = begun.take() {
                begun.send(()).expect("the test waits for it");
            }
            released.recv().expect_err("it is dropped");
            Ok(())
        });
        held.await.unwrap();
    });
    has_begun.await.unwrap();
    loop {
        let store = Arc::clone(&shell.store);
        let client =
            tokio::spawn(
                async move { commit(store.as_ref(), WriteOrder::client(0), |_| Ok(())).await },
            );
        tokio::task::yield_now().await;
        if client.is_finished() {
            assert_eq!(client.await.unwrap(), Err(WriteError::Overloaded));
            return release;
        }
    }
}

#[tokio::test]
async fn a_full_inbox_refuses_clients_and_has_room_for_the_runtime() {
    let dir = tempfile::tempdir().unwrap();
    let (shell, id) = shell_with_main(dir.path()).await;
    let release = fill_inbox(&shell).await;
    for sender in [Sender::Client, Sender::OwnRun] {
        let refused = within(shell.submit(&id, sender, Input::HostStops)).await;
        assert_eq!(refused, Err(Error::Overloaded), "{sender:?}");
    }
    let (taken, ()) = tokio::join!(
        shell.submit(&id, Sender::Runtime, Input::HostStops),
        async {
            drop(release);
        }
    );
    assert_eq!(taken, Ok(Reply::Done));
}

#[tokio::test]
async fn a_full_inbox_refuses_commands_about_a_route_and_not_the_rest_of_a_removal() {
    let dir = tempfile::tempdir().unwrap();
    let (shell, _) = shell_with_main(dir.path()).await;
    let route = DeliveryRoute::Target {
        name: "phone".to_owned(),
        target_id: Some(TargetId::from_stored("target_one")),
    };
    let release = fill_inbox(&shell).await;
    let retried = within(shell.retry_route(&route)).await;
    assert_eq!(retried, Err(Error::Overloaded));
    let removed = within(shell.remove_target("phone".to_owned(), None, 0)).await;
    assert_eq!(removed.map(drop), Err(Error::Overloaded));
    let (ended, ()) = tokio::join!(shell.end_route(&route, "phone"), async {
        drop(release);
    });
    assert_eq!(ended, Ok(()));
}

#[tokio::test]
async fn a_full_inbox_refuses_a_run_before_its_agent_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    let (shell, id) = shell_with_main(dir.path()).await;
    let control = control(&shell, dir.path());
    let request = RunRequest {
        images: Vec::new(),
        agent_id: Some(id.clone()),
        model: Some(ModelRef::parse("test/other").unwrap()),
        text: "hello".to_owned(),
        create_agent: false,
        home: Default::default(),
        max_rounds: None,
        wait_for_tasks: false,
        workspace: Default::default(),
        admission_context: AdmissionContext::LocalProcess,
        at_most: None,
    };
    let _release = fill_inbox(&shell).await;
    let refused = within(control.run_once(request)).await;
    assert_eq!(refused.map(drop), Err(Error::Overloaded));
}

#[tokio::test]
async fn a_wait_for_a_removal_is_not_woken_by_other_agents() {
    let dir = tempfile::tempdir().unwrap();
    let (shell, id) = shell_with_main(dir.path()).await;
    let other = add(&shell, "other").await;
    let mut waiting = std::pin::pin!(shell.wait_removed(&id));
    let looks = async {
        for _ in 0..8 {
            shell.store.agent(&other).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        () = &mut waiting => panic!("nothing is removed"),
        () = looks => {}
    }
    // A look at an agent that is aside would end the wait.
    let seen = shell.take_backs.of(&id);
    let mark = |aside: &str| {
        let sql = format!("UPDATE agents SET aside = {aside} WHERE agent_id = 'main'");
        holon_testkit::damage::sql(&dir.path().join("holon.sqlite3"), &sql)
    };
    assert_eq!(mark("'x'"), 1);
    let other_works = async {
        for _ in 0..8 {
            shell
                .submit(&other, Sender::Runtime, Input::HostStops)
                .await
                .unwrap();
            shell.store.agent(&other).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        () = &mut waiting => panic!("the other agent woke it"),
        () = other_works => {}
    }
    // Its own commits do wake it.
    assert_eq!(mark("NULL"), 1);
    shell.put_aside(&id, "a torn row".to_owned(), seen).await;
    within(waiting).await;
}

#[tokio::test]
async fn reads_of_clients_leave_the_seats_of_the_performers_free() {
    let dir = tempfile::tempdir().unwrap();
    let (quiet, _requests) = QuietPorts::new();
    let db_path = dir.path().join("holon.sqlite3");
    let db = Db::open(&db_path).unwrap();
    let main = AgentId::parse("main").unwrap();
    let config = HostConfig {
        db_path,
        agents_dir: "/agents".to_owned(),
        default_agent: main.clone(),
        models: ModelChain::only(ModelRef::parse("test/model").unwrap()),
        conduct: Conduct::default(),
    };
    let host = Host::open(config, quiet_ports(&quiet), db).unwrap();
    let mut holding = Vec::new();
    for _ in 0..READERS {
        let (begun, has_begun) = oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let readers = host.control().readers().clone();
        tokio::spawn(async move {
            let held = readers.read(move |_| {
                begun.send(()).expect("the test waits for it");
                released.recv().expect_err("it is dropped");
                Ok(())
            });
            held.await.unwrap();
        });
        has_begun.await.unwrap();
        holding.push(release);
    }
    let control = host.control();
    let found = within(control.shell().store.agent(&main)).await;
    assert_eq!(found, Ok(None));
    assert_eq!(holding.len(), READERS);
}
