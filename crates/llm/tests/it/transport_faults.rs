//! Faults of the transport: refused, reused, cancelled, compressed and broken connections.

use crate::support::{Key, text_of};
use crate::wire::{ask, asking, patient, router, router_with, spec};
use holon_domain::attempt::HttpErrorDetails;
use holon_domain::model::ModelFailureKind as Kind;
use holon_llm::HttpLimits;
use holon_testkit::provider::{
    Fault, Point, Protocol, Provider, Round, Script, UnreachableAddress,
};
use std::io::{Read as _, Write as _};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_refused_connection_says_where_it_was_tried() {
    let nobody = UnreachableAddress::take();
    let router = router(spec(Protocol::Chat, &nobody.base_url()), patient());
    let failure = ask(&router).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Connection);
    assert!(
        failure.message.contains(&nobody.base_url()),
        "{}",
        failure.message
    );
    let facts = failure.diagnostics.unwrap();
    assert_eq!(facts.stage, "connect");
    let expected = HttpErrorDetails {
        is_connect: true,
        is_request: true,
        ..HttpErrorDetails::default()
    };
    assert_eq!(facts.reqwest, Some(expected));
    assert!(
        facts
            .source_chain
            .iter()
            .any(|cause| cause.contains("refused")),
        "{facts:?}"
    );
}

#[tokio::test]
async fn one_connection_serves_one_round_after_the_other() {
    for protocol in Protocol::ALL {
        let rounds = ["one", "two", "three"].map(Round::text);
        let provider = Provider::start(Script::of(rounds));
        let router = router(spec(protocol, &provider.base_url()), patient());
        for words in ["one", "two", "three"] {
            assert_eq!(text_of(&ask(&router).await.unwrap()), words);
        }
        let connections: Vec<usize> = provider
            .finish()
            .iter()
            .map(|asked| asked.connection)
            .collect();
        assert_eq!(connections, [0, 0, 0], "{protocol:?}");
    }
}

#[tokio::test]
async fn a_connection_the_server_closed_is_replaced() {
    let rounds = [Round::text("one").close(), Round::text("two")];
    let provider = Provider::start(Script::of(rounds));
    let router = router(spec(Protocol::Chat, &provider.base_url()), patient());
    for words in ["one", "two"] {
        assert_eq!(text_of(&ask(&router).await.unwrap()), words);
    }
    let connections: Vec<usize> = provider
        .finish()
        .iter()
        .map(|asked| asked.connection)
        .collect();
    assert_eq!(connections, [0, 1]);
}

#[tokio::test]
async fn a_packed_split_or_oddly_written_answer_is_the_same_answer() {
    for protocol in Protocol::ALL {
        let words = "Grüße, 世界 🦀";
        let rounds = [
            Round::text(words).gzip(),
            Round::text(words).split(1),
            Round::text(words).split(7).gzip(),
            Round::text(words).odd_lines(),
            Round::text(words).odd_lines().split(3),
        ];
        let count = rounds.len();
        let provider = Provider::start(Script::of(rounds));
        let router = router(spec(protocol, &provider.base_url()), patient());
        for round in 0..count {
            let reply = ask(&router).await.unwrap();
            assert_eq!(text_of(&reply), words, "{protocol:?} round {round}");
        }
        provider.finish();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_and_hangs_up_wherever_it_is() {
    for protocol in Protocol::ALL {
        for (fault, point) in [
            (Fault::NoAnswer, Point::BeforeHeaders),
            (Fault::StallAfterHeaders, Point::AfterHeaders),
            (Fault::StallInBody, Point::AfterHeaders),
        ] {
            let round = Round::fault(fault).hold(point, "there");
            let provider = Provider::start(Script::of([round]));
            let router = router(spec(protocol, &provider.base_url()), patient());
            let (cancel, there) = (CancellationToken::new(), provider.gate("there"));
            let trigger = cancel.clone();
            let firing = tokio::task::spawn_blocking(move || {
                there.reached();
                there.open();
                trigger.cancel();
            });
            let failure = router.call(&asking(), &|_| {}, &cancel).await.unwrap_err();
            assert!(failure.message.contains("cancelled"), "{protocol:?}");
            firing.await.unwrap();
            // The server must notice that its client is gone although neither side has sent anything more.
            let seen = tokio::task::spawn_blocking(move || provider.wait_for_hang_ups(1));
            seen.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_token_that_has_fired_lets_nothing_start() {
    let provider = Provider::start(Script::of([]));
    let router = router(spec(Protocol::Chat, &provider.base_url()), patient());
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(router.call(&asking(), &|_| {}, &cancel).await.is_err());
    assert!(router.models("acme", &cancel).await.is_err());
    assert!(provider.requests().is_empty());
}

/// Starts a server that reads one request, writes these bytes and closes the connection.
fn saying(bytes: &'static [u8]) -> (String, std::thread::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4_096];
        let read_all = |request: &[u8]| {
            let text = String::from_utf8_lossy(request).to_lowercase();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                return false;
            };
            let length = head.split("content-length: ").nth(1).unwrap_or("0");
            let length: usize = length.lines().next().unwrap_or("0").parse().unwrap();
            body.len() >= length
        };
        while !read_all(&request) {
            let count = stream.read(&mut piece).unwrap();
            assert!(count > 0, "the request breaks off");
            request.extend_from_slice(&piece[..count]);
        }
        stream.write_all(bytes).unwrap();
    });
    (base, serving)
}

#[tokio::test]
async fn odd_ends_and_odd_beginnings_have_their_class() {
    for (bytes, kind) in [
        (&b"220 mail.example ESMTP\r\n"[..], Kind::NotJson),
        (b"HTTP/1.1 200 OK\r\nContent-Len", Kind::Connection),
        (b"HTTP/1.1 200 OK\r\n\r\n{\"choices\": [{\"mess", Kind::Connection),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"choices\": [{\"messa", Kind::NotJson),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"choices\": [{\"messa", Kind::Connection),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cho\r\n", Kind::Connection),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Kind::NotJson),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!", Kind::NotJson),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\xff", Kind::Connection),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Kind::NotJson),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 99\r\n\r\nbroken", Kind::ServerError),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", Kind::NotJson),
        (b"", Kind::Connection),
    ] {
        let (base, serving) = saying(bytes);
        let router = router(spec(Protocol::Chat, &base), patient());
        let failure = ask(&router).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{}: {failure:?}", String::from_utf8_lossy(bytes));
        serving.join().unwrap();
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_failed_connection() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        hello
    });
    let router = router(spec(Protocol::Chat, &base), patient());
    let failure = ask(&router).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Connection, "{failure:?}");
    assert_eq!(failure.diagnostics.unwrap().stage, "connect");
    let handshake = 22;
    assert_eq!(
        serving.join().unwrap()[0],
        handshake,
        "what was sent was encrypted"
    );
}

#[tokio::test]
async fn a_total_limit_holds_while_a_credential_is_fetched() {
    #[derive(Debug)]
    struct StuckCredentials;
    #[async_trait::async_trait]
    impl holon_llm::Credentials for StuckCredentials {
        async fn credential(&self, _: &str) -> Result<Option<holon_llm::Credential>, String> {
            std::future::pending().await
        }
    }
    let limits = HttpLimits {
        content: Duration::from_millis(20),
        ..patient()
    };
    let spec = spec(Protocol::Chat, "http://127.0.0.1:9");
    let router = holon_llm::Router::new(
        "".into(),
        vec![spec],
        std::sync::Arc::new(StuckCredentials),
        limits,
    )
    .unwrap();
    let failure = ask(&router).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Timeout);
    assert_eq!(failure.diagnostics.unwrap().stage, "credential");
}

#[tokio::test]
async fn a_missing_credential_is_reported_and_nothing_is_sent() {
    let provider = Provider::start(Script::of([]));
    let missing = Key::missing("no key for acme; set ACME_API_KEY");
    let router = router_with(
        spec(Protocol::Chat, &provider.base_url()),
        patient(),
        missing,
    );
    let failure = ask(&router).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Auth);
    assert_eq!(failure.message, "no key for acme; set ACME_API_KEY");
    assert_eq!(router.check(&asking().model).await, Err(failure));
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn an_error_body_that_does_not_end_is_reported_after_its_time_limit() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = "HTTP/1.1 503 Busy\r\nContent-Length: 9999\r\n\r\n";
        let words = "the kitchen is closed, and more words than the key is long ";
        // A response is only valid after a request was read.
        assert_ne!(stream.read(&mut [0; 1_024]).unwrap(), 0);
        stream
            .write_all(format!("{head}{words}").as_bytes())
            .unwrap();
        // The connection stays open until the caller is done.
        assert!(wait.recv().is_err());
    });
    let limits = HttpLimits {
        error: Duration::from_millis(500),
        ..patient()
    };
    let router = router(spec(Protocol::Chat, &base), limits);
    // Far below the idle limit, so that waiting for the body fails the test instead of hanging it.
    let answer = tokio::time::timeout(limits.idle / 5, ask(&router)).await;
    let failure = answer
        .expect("the status is told without the words")
        .unwrap_err();
    drop(done);
    assert_eq!(failure.kind, Kind::ServerError, "{failure:?}");
    assert!(
        failure.message.contains("the kitchen is closed"),
        "{}",
        failure.message
    );
    serving.join().unwrap();
}
