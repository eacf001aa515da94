//! The registry of workspaces and the occupied execution roots survive a restart and the removal of other agents.

use crate::samples::Scribe;
use holon_domain::decision::Fact;
use holon_domain::limits::WORKSPACES_REGISTERED;
use holon_domain::workspace::{AttachedWorkspace, Occupancy, WorkspaceEntry, WorkspaceKind};
use holon_domain::{Timestamp, WorkspaceId};
use holon_store::{AgentNo, Db, Removal};

fn workspace(name: &str, repository: Option<&str>) -> AttachedWorkspace {
    AttachedWorkspace {
        workspace_id: WorkspaceId::from_stored(format!("ws-{name}")),
        workspace_anchor: format!("/srv/{name}"),
        repository: repository.map(str::to_owned),
    }
}

fn registered(name: &str, repository: Option<&str>, at: i64) -> Fact {
    Fact::WorkspaceRegistered {
        workspace: workspace(name, repository),
        at: Timestamp::from_millis(at),
    }
}

fn occupancy(name: &str) -> Occupancy {
    let entry = WorkspaceEntry {
        workspace_id: WorkspaceId::from_stored(format!("ws-{name}")),
        ..WorkspaceEntry::agent_home(&format!("/srv/{name}"))
    };
    Occupancy::of(&entry, Timestamp::from_millis(7))
}

fn taken(name: &str) -> Fact {
    Fact::OccupancyTaken(Box::new(occupancy(name)))
}

fn create(db: &mut Db, name: &str) -> (AgentNo, Scribe) {
    let scribe = Scribe::new(name);
    let no = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    (no, scribe)
}

fn write(db: &mut Db, no: AgentNo, scribe: &mut Scribe, fact: Fact) {
    let mut decision = scribe.event().decide();
    decision.facts.push(fact);
    db.write(|tx| tx.apply(no, &decision)).expect("writes");
}

#[test]
fn a_workspace_is_registered_once_and_the_registry_survives_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    let (no, mut scribe) = create(&mut db, "a");
    write(&mut db, no, &mut scribe, registered("one", None, 10));
    write(&mut db, no, &mut scribe, registered("two", None, 20));
    let git = Some("/srv/one/.git");
    write(&mut db, no, &mut scribe, registered("one", git, 30));
    drop(db);
    let db = Db::open(&path).expect("opens");
    let found = db.reader().workspaces(10).expect("reads");
    let [one, two] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(one.workspace_anchor, "/srv/one");
    assert_eq!(one.kind, WorkspaceKind::GitRepository);
    assert_eq!(one.repository.as_deref(), git);
    let times = (one.registered_at.as_millis(), one.seen_at.as_millis());
    assert_eq!(times, (10, 30));
    assert_eq!(two.kind, WorkspaceKind::PlainDirectory);
}

#[test]
fn the_registry_is_bounded_and_the_one_seen_longest_ago_goes_first() {
    let mut db = Db::in_memory().expect("opens");
    let (no, mut scribe) = create(&mut db, "a");
    let most = i64::try_from(WORKSPACES_REGISTERED).expect("a number");
    let mut decision = scribe.event().decide();
    for number in 0..=most {
        let fact = registered(&number.to_string(), None, number);
        decision.facts.push(fact);
    }
    db.write(|tx| tx.apply(no, &decision)).expect("writes");
    let found = db.reader().workspaces(usize::MAX).expect("reads");
    assert_eq!(found.len(), WORKSPACES_REGISTERED);
    let oldest = found.last().expect("a workspace");
    assert_eq!(oldest.workspace_anchor, "/srv/1");
}

#[test]
fn the_occupants_of_a_root_are_found_until_they_leave_or_are_removed() {
    let mut db = Db::in_memory().expect("opens");
    let (first, mut scribe) = create(&mut db, "a");
    let (second, mut other) = create(&mut db, "b");
    write(&mut db, first, &mut scribe, taken("one"));
    write(&mut db, second, &mut other, taken("one"));
    let occupants = |db: &Db| {
        let found = db.reader().occupants("/srv/one").expect("reads");
        let mut names: Vec<String> = found
            .into_iter()
            .map(|found| {
                assert_eq!(found.occupancy, occupancy("one"));
                found.agent_id.to_string()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(occupants(&db), ["a", "b"]);
    write(&mut db, first, &mut scribe, taken("two"));
    assert_eq!(occupants(&db), ["b"]);
    write(&mut db, first, &mut scribe, Fact::OccupancyReleased);
    assert_eq!(db.reader().occupancy(first), Ok(None));
    let gone = db.write(|tx| tx.remove_agent_rows(second, 1_000));
    assert_eq!(gone, Ok(Removal::Done));
    assert_eq!(occupants(&db), [""; 0]);
}
