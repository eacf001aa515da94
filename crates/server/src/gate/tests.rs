//! The gate against every combination of header values, on every route.

use super::*;
use crate::router::routes;
use axum::body::Body;

const SECRET: &str = "0123456789abcdefghijkl";

/// Values of one header, and true if they are allowed.
type Choice = (&'static [&'static str], bool);

const HOSTS: [Choice; 8] = [
    (&["localhost:7878"], true),
    (&["127.0.0.1"], true),
    (&["[::1]:7878"], true),
    (&["box.example"], true),
    (&["evil.example:7878"], false),
    (&["0.0.0.0:7878"], false),
    (&["localhost", "evil.example"], false),
    (&[], false),
];
const ORIGINS: [Choice; 8] = [
    (&[], true),
    (&["http://localhost:7878"], false),
    (&["http://127.0.0.1:7878"], false),
    (&["https://evil.example"], false),
    (&["null"], false),
    (&[""], false),
    (&["file://"], false),
    (&["chrome-extension://abc"], false),
];
const TOKENS: [Choice; 8] = [
    (&["Bearer 0123456789abcdefghijkl"], true),
    (&["bearer 0123456789abcdefghijkl"], true),
    (&["Bearer 0123456789abcdefghijkL"], false),
    (&["Bearer "], false),
    (&["Basic 0123456789abcdefghijkl"], false),
    (&["0123456789abcdefghijkl"], false),
    (
        &[
            "Bearer 0123456789abcdefghijkl",
            "Bearer 0123456789abcdefghijkl",
        ],
        false,
    ),
    (&[], false),
];
const TYPES: [Choice; 8] = [
    (&["application/json"], true),
    (&["Application/JSON; charset=utf-8"], true),
    (&["application/json; charset=\"UTF-8\""], true),
    (&["application/json; charset=utf-16"], false),
    (&["text/plain"], false),
    (&["application/x-www-form-urlencoded"], false),
    (&["application/json", "text/plain"], false),
    (&["application/jsonp"], false),
];

fn gate(transport: Transport) -> Gate {
    Gate {
        transport,
        token: Token::new(SECRET).unwrap(),
        named: Arc::default(),
        hosts: AllowedHosts::new(
            Some("127.0.0.1:7878".parse().unwrap()),
            &["box.example".to_owned()],
        ),
    }
}

fn request(
    method: &Method,
    path: &str,
    headers: [(&str, Choice); 4],
    body: &'static str,
) -> Request {
    let mut builder = axum::http::Request::builder()
        .method(method)
        .uri(path.replace("{id}", "main"));
    for (name, (values, _)) in headers {
        for value in values {
            builder = builder.header(name, *value);
        }
    }
    builder.body(Body::from(body)).unwrap()
}

fn verdict(gate: &Gate, request: &Request) -> (u16, String) {
    match gate.check(request) {
        Ok(Caller::Local | Caller::Agent(_) | Caller::Control | Caller::Named(_)) => {
            (200, "known".into())
        }
        Ok(Caller::Anonymous) => (200, "stranger".into()),
        Err(refusal) => {
            let status = refusal.status.as_u16();
            (status, refusal.into_body().code.unwrap())
        }
    }
}

/// Computes the expected verdict: the first header that is not allowed decides.
fn expected(
    method: &Method,
    path: &str,
    [host, origin, token, kind]: [bool; 4],
) -> (u16, &'static str) {
    let delivery = path.starts_with("/callbacks/") || path.starts_with("/webhooks/");
    let public = path == "/healthz" || path == "/handshake" || delivery;
    // A delivery from outside has any type, and the route of images refuses what is none.
    let any_type = delivery || path == image::PATH;
    match (
        host,
        origin,
        token,
        kind || method == Method::GET || any_type,
    ) {
        (false, ..) => (403, "host_not_allowed"),
        (true, false, ..) => (403, "origin_not_allowed"),
        (true, true, false, _) if !public => (401, "unauthorized"),
        (true, true, _, false) => (415, "unsupported_media_type"),
        (true, true, true, true) => (200, "known"),
        (true, true, false, true) => (200, "stranger"),
    }
}

#[test]
fn over_tcp_every_combination_on_every_route_gets_the_verdict_the_rules_give() {
    let gate = gate(Transport::Tcp);
    let mut judged = 0_u32;
    for (method, path) in routes() {
        for host in HOSTS {
            for origin in ORIGINS {
                for token in TOKENS {
                    for kind in TYPES {
                        let headers = [
                            ("host", host),
                            ("origin", origin),
                            ("authorization", token),
                            ("content-type", kind),
                        ];
                        let (status, code) =
                            expected(&method, path, [host.1, origin.1, token.1, kind.1]);
                        let got = verdict(&gate, &request(&method, path, headers, "{}"));
                        assert_eq!(
                            got,
                            (status, code.to_owned()),
                            "{method} {path} {headers:?}"
                        );
                        judged += 1;
                    }
                }
            }
        }
    }
    assert!(judged > 50_000, "only {judged} combinations");
}

#[test]
fn over_the_socket_no_token_is_needed_and_pages_are_refused() {
    let gate = gate(Transport::Unix);
    for (method, path) in routes() {
        for host in HOSTS {
            for origin in ORIGINS {
                let headers = [
                    ("host", host),
                    ("origin", origin),
                    ("authorization", (&[] as &[&str], false)),
                    ("content-type", (&["application/json"] as &[&str], true)),
                ];
                let (status, code) = expected(&method, path, [true, origin.1, true, true]);
                let got = verdict(&gate, &request(&method, path, headers, "{}"));
                assert_eq!(
                    got,
                    (status, code.to_owned()),
                    "{method} {path} {headers:?}"
                );
            }
        }
    }
}

#[test]
fn a_body_needs_a_type_and_no_body_needs_none() {
    let gate = gate(Transport::Unix);
    let none: Choice = (&[], true);
    let headers = [
        ("host", none),
        ("origin", none),
        ("authorization", none),
        ("content-type", none),
    ];
    let post = |body| request(&Method::POST, "/control/runtime/shutdown", headers, body);
    assert_eq!(verdict(&gate, &post("")), (200, "known".into()));
    assert_eq!(verdict(&gate, &post("{}")).0, 415);
}

#[test]
fn a_request_target_cannot_name_another_host_than_the_header() {
    let gate = gate(Transport::Tcp);
    let request = axum::http::Request::builder()
        .uri("http://evil.example/agents/list")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {SECRET}"))
        .body(Body::empty())
        .unwrap();
    assert_eq!(verdict(&gate, &request), (403, "host_not_allowed".into()));
}

#[test]
fn a_path_that_only_resembles_a_public_one_is_not_public() {
    let gate = gate(Transport::Tcp);
    let none: Choice = (&[], true);
    let headers = [
        ("host", HOSTS[0]),
        ("origin", none),
        ("authorization", none),
        ("content-type", none),
    ];
    for path in [
        "/healthz/",
        "/healthz/x",
        "//healthz",
        "/HEALTHZ",
        "/%68ealthz",
        "/handshake/../status",
    ] {
        let got = verdict(&gate, &request(&Method::GET, path, headers, ""));
        assert_eq!(got, (401, "unauthorized".into()), "{path}");
    }
}
