//! An agent whose stored row cannot be read, as an operator sees it.

use crate::support::{hello, world};
use holon_testkit::damage;

#[test]
fn a_host_goes_on_without_an_agent_that_cannot_be_read_and_says_how_to_get_it_back() {
    let world = world();
    let model = hello(&world);
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["agent", "create", "dev"]).code, Some(0));
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    assert_eq!(served.terminate().0, Some(0));
    let db = world.home().join("state/holon.sqlite3");
    let breaks = "UPDATE agents SET record = 'x' || record WHERE agent_id = 'main'";
    assert_eq!(damage::sql(&db, breaks), 1);

    let served = world.serve(&["--model", &model]);
    assert_eq!(
        world.run(&["run", "hi", "--agent", "dev"]).answer().trim(),
        "Hello there."
    );
    let refused = world.run(&["prompt", "hi"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for part in ["main was put aside: agents main:", "holon agent start main"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let list = world.run(&["agent", "list"]);
    assert!(list.answer().contains("put aside"), "{list:?}");
    assert!(list.answer().contains("dev"), "{list:?}");
    assert_eq!(world.run(&["agent", "start", "main"]).code, Some(1));

    let mends = "UPDATE agents SET record = substr(record, 2) WHERE agent_id = 'main'";
    assert_eq!(damage::sql(&db, mends), 1);
    assert_eq!(world.run(&["agent", "start", "main"]).code, Some(0));
    assert_eq!(
        world.run(&["run", "hi", "--agent", "main"]).answer().trim(),
        "Hello there."
    );
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert!(log.contains("an agent was put aside"), "{log}");
}
