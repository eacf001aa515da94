//! Pages of briefs and transcript: forward, backward, and only of the agent that a cursor belongs to.

use crate::world::World;
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::{Error as ClientError, SeqQuery};
use holon_testkit::engine::agent;

/// Sends prompts and waits until each has its brief.
pub(crate) async fn prompt(world: &World, name: &str, count: usize) {
    for number in 0..count {
        let request = PromptRequest {
            images: Vec::new(),
            text: format!("prompt {number}"),
            priority: None,
            max_turns: None,
            trust: None,
        };
        world.local().prompt(&agent(name), &request).await.unwrap();
        while world
            .local()
            .briefs(Some(&agent(name)), Some(500))
            .await
            .unwrap()
            .len()
            <= number
        {}
    }
}

/// Reads every page in one direction and returns the positions in the order of the pages.
async fn walk(world: &World, what: &str, forward: bool) -> Vec<Vec<u64>> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let bound = match (forward, cursor) {
            (true, cursor) => format!("&after_seq={}", cursor.unwrap_or(0)),
            (false, Some(cursor)) => format!("&before_seq={cursor}"),
            (false, None) => String::new(),
        };
        let reply = world
            .ask("GET", &format!("/agents/main/{what}?limit=2{bound}"), "")
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let page: Vec<u64> = reply
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["seq"].as_u64().unwrap())
            .collect();
        let next = if forward { page.last() } else { page.first() };
        let Some(next) = next else { return pages };
        cursor = Some(*next);
        pages.push(page);
    }
}

#[tokio::test]
async fn pages_of_briefs_and_transcript_meet_from_both_ends() {
    let world = World::start().await;
    prompt(&world, "main", 5).await;
    for what in ["briefs", "transcript"] {
        let forward: Vec<u64> = walk(&world, what, true).await.concat();
        let mut backward = walk(&world, what, false).await;
        backward.reverse();
        assert_eq!(forward, backward.concat(), "{what}");
        assert!(forward.len() >= 5, "{what}: {forward:?}");
        assert!(
            forward.windows(2).all(|pair| pair[0] < pair[1]),
            "{what}: {forward:?}"
        );
        let all = world
            .ask("GET", &format!("/agents/main/{what}?limit=500"), "")
            .await
            .json();
        assert_eq!(all.as_array().unwrap().len(), forward.len(), "{what}");
    }
}

#[tokio::test]
async fn a_cursor_of_a_deleted_agent_is_refused_for_its_briefs_too() {
    let world = World::start().await;
    let (client, id) = (world.local(), agent("r1"));
    client
        .create_agent(&id, &CreateAgentRequest::default())
        .await
        .unwrap();
    prompt(&world, "r1", 1).await;
    let first = client
        .briefs_page(Some(&id), SeqQuery::default())
        .await
        .unwrap();
    assert_eq!(first.entries[0].seq, 1);
    let next = SeqQuery {
        after_seq: Some(1),
        epoch: first.epoch.clone(),
        ..SeqQuery::default()
    };
    let same = client.briefs_page(Some(&id), next.clone()).await.unwrap();
    assert_eq!((same.entries.len(), &same.epoch), (0, &first.epoch));
    client.delete_agent(&id).await.unwrap();
    while world.ask("GET", "/agents/r1/status", "").await.status != 404 {}
    client
        .create_agent(&id, &CreateAgentRequest::default())
        .await
        .unwrap();
    for refused in [
        client
            .briefs_page(Some(&id), next.clone())
            .await
            .map(|_| ()),
        client.transcript_page(Some(&id), next).await.map(|_| ()),
    ] {
        let Err(ClientError::Api { status, code, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((status, code.as_deref()), (410, Some("epoch_changed")));
    }
}
