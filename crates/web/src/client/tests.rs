//! Requests against servers of this test, on loopback.

use super::*;
use crate::resolve::LookupFuture;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers each connection with the next response and keeps what was sent.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _task: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start(responses: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let _task = tokio::task::spawn_local(async move {
            for response in responses {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let request = read_request(&mut stream).await;
                kept.lock().expect("no panic").push(request);
                stream.write_all(response.as_bytes()).await.ok();
                stream.shutdown().await.ok();
            }
        });
        Self {
            port,
            requests,
            _task,
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic").clone()
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")
                    .map(str::to_owned)
            });
            let length = length
                .and_then(|length| length.trim().parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn post(url: &str) -> Request {
    Request {
        method: Method::POST,
        url: url.to_owned(),
        origin: Origin::Configured,
        headers: vec![
            ("authorization".to_owned(), "Bearer secret".to_owned()),
            ("idempotency-key".to_owned(), "dlv_1".to_owned()),
        ],
        body: b"{}".to_vec(),
        timeout: Duration::from_secs(5),
        max_bytes: 64,
        max_redirects: 5,
        rules: HostRules::default(),
    }
}

async fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(test).await
}

#[tokio::test]
async fn a_configured_address_on_loopback_is_used_as_written() {
    run(async {
        let server = Server::start(vec![answer("202 Accepted", "", r#"{"status":"ok"}"#)]).await;
        let response = WebClient::default().send(&post(&server.url())).await;
        let response = response.expect("an answer");
        assert_eq!((response.status, response.cut), (202, None));
        let request = &server.requests()[0];
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("idempotency-key: dlv_1"), "{request}");
        assert!(request.ends_with("\r\n\r\n{}"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn a_redirect_to_loopback_is_refused_and_nothing_is_sent_there() {
    run(async {
        let inside = Server::start(vec![answer("200 OK", "", "secret")]).await;
        for target in [
            inside.url(),
            format!("http://[::1]:{}/", inside.port),
            format!("http://[::ffff:127.0.0.1]:{}/", inside.port),
            "http://169.254.169.254/latest/meta-data".to_owned(),
            "http://10.0.0.1/".to_owned(),
        ] {
            let location = format!("location: {target}\r\n");
            let outside = Server::start(vec![answer("307 Temporary", &location, "")]).await;
            let refused = WebClient::default().send(&post(&outside.url())).await;
            assert!(
                matches!(refused, Err(WebError::Forbidden { .. })),
                "{target}: {refused:?}"
            );
        }
        assert_eq!(inside.requests(), Vec::<String>::new());
    })
    .await;
}

struct Everywhere(IpAddr);

impl Lookup for Everywhere {
    fn lookup(&self, _: String) -> LookupFuture {
        let address = self.0;
        Box::pin(async move { Ok(vec![address]) })
    }
}

#[tokio::test]
async fn a_redirect_to_a_name_that_resolves_to_loopback_is_refused() {
    run(async {
        let location = "location: http://rebound.example/\r\n";
        let outside = Server::start(vec![answer("308 Permanent", location, "")]).await;
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let client = WebClient::with_lookup(Arc::new(Everywhere(loopback)));
        let refused = client
            .send(&post(&outside.url()))
            .await
            .expect_err("refused");
        let expected = WebError::Forbidden {
            what: "http://rebound.example".to_owned(),
            address: "127.0.0.1".to_owned(),
        };
        assert_eq!(refused, expected);
    })
    .await;
}

#[tokio::test]
async fn a_foreign_address_must_be_public_from_the_beginning() {
    let foreign = Request {
        origin: Origin::Foreign,
        ..post("http://127.0.0.1:1/")
    };
    let refused = WebClient::default().send(&foreign).await;
    assert!(
        matches!(refused, Err(WebError::Forbidden { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_redirect_that_drops_the_body_is_an_error() {
    run(async {
        for status in ["301 Moved", "302 Found", "303 See Other"] {
            let server = Server::start(vec![answer(status, "location: /other\r\n", "")]).await;
            let refused = WebClient::default().send(&post(&server.url())).await;
            assert!(
                matches!(refused, Err(WebError::DropsBody { .. })),
                "{status}: {refused:?}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_a_silent_one_times_out() {
    run(async {
        let long = "x".repeat(100_000);
        let server = Server::start(vec![answer("200 OK", "", &long)]).await;
        let response = WebClient::default().send(&post(&server.url())).await;
        let response = response.expect("an answer");
        assert_eq!((response.body.len(), response.cut), (64, Some(Cut::Bytes)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let silent = Request {
            timeout: Duration::from_millis(50),
            ..post(&format!("http://127.0.0.1:{port}/"))
        };
        let refused = WebClient::default()
            .send(&silent)
            .await
            .expect_err("no answer");
        assert_eq!(refused, WebError::TimedOut(Duration::from_millis(50)));
    })
    .await;
}

#[tokio::test]
async fn addresses_of_other_schemes_and_without_a_host_are_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://x/",
        "http://",
        "not an address",
        "",
    ] {
        let refused = WebClient::default().send(&post(url)).await;
        assert!(
            matches!(refused, Err(WebError::Address { .. })),
            "{url}: {refused:?}"
        );
    }
}
