//! The gate in the served router, before every route.

use crate::world::{Reply, SECRET, World};
use holon_server::{PUBLIC, routes};

fn head(method: &str, target: &str, headers: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n")
}

async fn each_route(world: &World, headers: &str) -> Vec<(&'static str, Reply)> {
    let mut replies = Vec::new();
    for (method, path) in routes() {
        let target = path.replace("{id}", "main");
        replies.push((
            path,
            world
                .over_tcp(head(method.as_str(), &target, headers))
                .await,
        ));
    }
    replies
}

#[tokio::test]
async fn no_route_but_the_public_ones_answers_a_stranger() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for headers in [
        "Host: localhost\r\n",
        "Host: localhost\r\nAuthorization: Bearer 0123456789abcdefghijkL\r\n",
    ] {
        for (path, reply) in each_route(&world, headers).await {
            if PUBLIC.contains(&path) {
                // The token in a path, or the signature, is checked by the route.
                let expected = if path.contains('{') { 404 } else { 200 };
                assert_eq!(reply.status, expected, "{path}");
            } else {
                assert_eq!(reply.refusal(), (401, "unauthorized".into()), "{path}");
                assert!(reply.header("www-authenticate").is_some(), "{path}");
            }
        }
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn no_route_answers_a_foreign_host_or_a_web_page_even_with_the_token() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let token = format!("Authorization: Bearer {SECRET}\r\n");
    for (headers, code) in [
        (format!("Host: evil.example\r\n{token}"), "host_not_allowed"),
        (
            format!("Host: localhost\r\nOrigin: http://localhost\r\n{token}"),
            "origin_not_allowed",
        ),
    ] {
        for (path, reply) in each_route(&world, &headers).await {
            assert_eq!(reply.refusal(), (403, code.into()), "{path}");
        }
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_stranger_cannot_find_out_which_routes_exist() {
    let world = World::start().await;
    for (method, target) in [
        ("GET", "/no/such/route"),
        ("DELETE", "/agents/list"),
        ("OPTIONS", "/control/run"),
    ] {
        let reply = world
            .over_tcp(head(method, target, "Host: localhost\r\n"))
            .await;
        assert_eq!(
            reply.refusal(),
            (401, "unauthorized".into()),
            "{method} {target}"
        );
    }
}

#[tokio::test]
async fn no_route_takes_a_parameter_it_does_not_know() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for (method, path) in routes() {
        let target = format!("{}?nonsense=1", path.replace("{id}", "main"));
        let reply = world
            .ask(
                method.as_str(),
                &target,
                if method == "GET" { "" } else { "{}" },
            )
            .await;
        assert_eq!(
            reply.refusal(),
            (400, "invalid_query".into()),
            "{method} {path}"
        );
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn no_answer_may_be_cached_or_shared_with_a_page() {
    let world = World::start().await;
    for (path, reply) in each_route(&world, "Host: localhost\r\n").await {
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn the_token_is_in_no_answer() {
    let world = World::start().await;
    let headers =
        format!("Host: localhost\r\nAuthorization: Bearer {SECRET}\r\nContent-Length: 0\r\n");
    for (method, path) in routes() {
        if path.ends_with("/stream") || path.ends_with("/shutdown") {
            continue;
        }
        let target = path.replace("{id}", "main");
        let reply = world
            .over_tcp(head(method.as_str(), &target, &headers))
            .await;
        assert!(
            reply.status > 0 && !format!("{reply:?}").contains(SECRET),
            "{method} {path}"
        );
    }
}

/// The target of a route for requests of these tests: every name in its path is one that may exist.
fn target_of(path: &str) -> String {
    path.replace("{id}", "main").replace(['{', '}'], "")
}

#[tokio::test]
async fn every_route_takes_its_own_method_only_and_names_it() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for (method, path) in routes() {
        let allowed = if method == "GET" { "GET,HEAD" } else { "POST" };
        let wrong = if method == "GET" { "POST" } else { "GET" };
        for wrong in [wrong, "PUT", "DELETE", "PATCH"] {
            let reply = world.ask(wrong, &target_of(path), "").await;
            let refused = (405, "method_not_allowed".into());
            assert_eq!(reply.refusal(), refused, "{wrong} {path}");
            assert_eq!(reply.header("allow"), Some(allowed), "{wrong} {path}");
        }
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn every_route_with_a_body_takes_json_of_a_bounded_size_only() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for (method, path) in routes().into_iter().filter(|(method, _)| method == "POST") {
        // Deliveries from outside have any type.
        if PUBLIC.contains(&path) {
            continue;
        }
        let target = target_of(path);
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            let request = format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: 2\r\n\
                 Connection: close\r\n\r\n{{}}"
            );
            let reply = world.over_unix(request).await;
            let refused = (415, "unsupported_media_type".into());
            assert_eq!(reply.refusal(), refused, "{kind} {path}");
        }
        // The archive of an import and an image are no JSON and have limits of their own.
        if path.ends_with("/import") || path == "/control/images" {
            continue;
        }
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: 1000000000\r\nConnection: close\r\n\r\n"
        );
        let reply = world.over_unix(request).await;
        assert_eq!(reply.refusal(), (413, "too_large".into()), "{path}");
        for body in ["[]", "{\"nonsense\": 1}", "{oops"] {
            let reply = world.ask("POST", &target, body).await;
            assert_eq!(reply.status, 400, "{path} {body}: {reply:?}");
            reply.refusal();
        }
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn only_the_public_list_is_open_and_every_other_route_declares_a_scope() {
    let open = holon_server::route_access()
        .into_iter()
        .filter(|(_, _, access)| *access == holon_server::Access::Public)
        .map(|(_, path, _)| path);
    assert_eq!(open.collect::<Vec<_>>(), PUBLIC);
}
