//! Files that an agent attaches to a notification and to the report of a work item, downloaded over HTTP.

use crate::hands::{self, Hands};
use crate::memory::request;
use crate::processes::ProcessCleanup;
use crate::support::world;
use serde_json::json;

#[test]
fn attached_files_of_the_home_are_shown_and_downloaded_and_no_others() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let host = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let home = world.home().join("agents/main");
    // An item that waits for its operator makes no tick, which would take the dictated calls.
    let new = json!({ "objective": "report", "plan_status": "needs_input" });
    let made = hands.call("CreateWorkItem", new);
    let item = made["work_item"]["id"].as_str().expect("an id").to_owned();

    // The test writes the files itself: a command that is slow becomes a task, whose end would begin a turn of its own.
    std::fs::create_dir_all(home.join("work")).unwrap();
    for (name, text) in [
        ("report.md", "all is well"),
        ("private.md", "not attached"),
        ("swapped.md", "as it was"),
    ] {
        std::fs::write(home.join("work").join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("report.md", home.join("work/link.md")).unwrap();

    let outside = json!({ "work_item_id": item, "attachments": ["../../config.toml"] });
    let refused = hands.refused("CompleteWorkItem", outside);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("no path inside of your home"),
        "{refused}"
    );
    // What could never be loaded is not promised.
    for (path, why) in [
        ("work/missing.md", "there is no file"),
        ("work", "cannot be attached"),
        ("work/link.md", "cannot be attached"),
    ] {
        let asked = json!({ "work_item_id": item, "attachments": ["work/report.md", path] });
        let refused = hands.refused("CompleteWorkItem", asked);
        assert!(
            refused["message"].as_str().unwrap().contains(why),
            "{refused}"
        );
        let asked = json!({ "message": "look at it", "attachments": [path] });
        let refused = hands.refused("NotifyOperator", asked);
        assert!(
            refused["message"].as_str().unwrap().contains(why),
            "{refused}"
        );
    }
    hands.call(
        "CompleteWorkItem",
        json!({ "work_item_id": item, "attachments": ["work/report.md"] }),
    );
    hands.call(
        "NotifyOperator",
        json!({ "message": "look at it", "attachments": ["work/swapped.md"] }),
    );
    let briefs = world.run(&["tail", "--json"]).json();
    let briefs = briefs.as_array().expect("briefs");
    let uri = "/agents/main/attachment?path=work/report.md";
    assert!(
        briefs
            .iter()
            .any(|brief| brief["attachments"][0]["uri"] == uri),
        "{briefs:#?}"
    );

    let get = |target: &str| request(&world, &host, &format!("GET {target}"), "");
    assert_eq!(get(uri), (200, "all is well".to_owned()));
    let swapped = "/agents/main/attachment?path=work/swapped.md";
    assert_eq!(get(swapped).0, 200);
    // A link in the place of an attached file is not followed, wherever it leads.
    std::fs::remove_file(home.join("work/swapped.md")).unwrap();
    std::os::unix::fs::symlink(home.join("work/private.md"), home.join("work/swapped.md")).unwrap();
    assert_eq!(world.run(&["agent", "create", "other"]).code, Some(0));
    for target in [
        swapped,
        "/agents/main/attachment?path=work/private.md",
        "/agents/main/attachment?path=../../config.toml",
        "/agents/main/attachment?path=/etc/passwd",
        "/agents/other/attachment?path=work/report.md",
    ] {
        let (status, body) = get(target);
        assert_eq!(status, 404, "{target}: {body}");
        assert!(body.contains("attachment_not_found"), "{target}: {body}");
    }
    assert_eq!(host.terminate().0, Some(0));
}
