//! The routes of archives refuse what is no archive before anything is read. The archives of the engine behind them hold
//! no files.

use crate::world::{Reply, World};
use holon_domain::limits::ARCHIVE_BYTES;

async fn import(world: &World, target: &str, headers: &str, body: &str) -> Reply {
    world
        .over_unix(format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n{body}"
        ))
        .await
}

#[tokio::test]
async fn an_import_takes_archives_and_nothing_else() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let tar = "Content-Type: application/x-tar\r\n";
    let json = "Content-Type: application/json\r\n";
    let plain = "Content-Type: text/plain\r\n";
    let path = "/control/agents/eve/import";
    let four = |kind: &str| format!("{kind}Content-Length: 4\r\n");
    let huge = format!("{tar}Content-Length: {}\r\n", ARCHIVE_BYTES + 1);
    for (target, headers, status, code) in [
        (path, four(tar), 400, "invalid_archive"),
        (path, four(json), 415, "unsupported_media_type"),
        (path, four(plain), 415, "unsupported_media_type"),
        (path, four(""), 415, "unsupported_media_type"),
        (path, huge, 413, "too_large"),
        (
            "/control/agents/.eve/import",
            four(tar),
            400,
            "invalid_agent_id",
        ),
        (
            "/control/agents/tmp_eve/import",
            four(tar),
            400,
            "invalid_agent_id",
        ),
        (
            "/control/agents/main/export",
            four(tar),
            415,
            "unsupported_media_type",
        ),
        (
            "/control/agents/main/clone",
            four(tar),
            415,
            "unsupported_media_type",
        ),
    ] {
        let reply = import(&world, target, &headers, "abcd").await;
        assert_eq!(reply.refusal(), (status, code.into()), "{target} {headers}");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn exports_and_clones_name_their_agents() {
    let world = World::start().await;
    let ask = async |target: &str, body: &str| world.ask("POST", target, body).await.refusal();
    let missing = (404, "agent_not_found".to_owned());
    assert_eq!(ask("/control/agents/nobody/export", "").await, missing);
    let name = "{\"name\":\"eve\"}";
    assert_eq!(ask("/control/agents/nobody/clone", name).await, missing);
    let taken = ask("/control/agents/main/clone", "{\"name\":\"main\"}").await;
    assert_eq!(taken, (409, "agent_conflict".to_owned()));
    let bad = ask("/control/agents/main/clone", "{\"name\":\"../up\"}").await;
    assert_eq!(bad, (400, "invalid_agent_id".to_owned()));
    let unknown = ask("/control/agents/main/export", "{\"secrets\":true}").await;
    assert_eq!(unknown, (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn another_archive_under_the_same_key_is_refused_also_if_it_is_as_long() {
    let world = World::start().await;
    let exported = world
        .over_unix(
            "POST /control/agents/main/export HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        )
        .await;
    assert_eq!(exported.status, 200, "{exported:?}");
    let send = async |archive: &str| {
        let headers = format!(
            "Content-Type: application/x-tar\r\nIdempotency-Key: k\r\nContent-Length: {}\r\n",
            archive.len()
        );
        import(&world, "/control/agents/eve/import", &headers, archive).await
    };
    let first = send(&exported.body).await;
    assert_eq!(first.status, 200, "{first:?}");
    let again = send(&exported.body).await;
    assert_eq!((again.status, again.json()), (200, first.json()));
    let other = exported.body.replace("main", "niam");
    assert_ne!(other, exported.body);
    assert_eq!(other.len(), exported.body.len());
    let refused = send(&other).await;
    assert_eq!(refused.refusal(), (422, "idempotency_key_reused".into()));
}
