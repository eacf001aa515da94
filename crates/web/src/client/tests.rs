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

#[tokio::test]
async fn a_configured_private_endpoint_may_redirect_to_itself() {
    run(async {
        let moved = answer("307 Temporary", "location: /hook/v2\r\n", "");
        let server = Server::start(vec![moved, answer("200 OK", "", "{}")]).await;
        let mut request = post(&server.url());
        let key = ("authorization".to_owned(), "Bearer KEY".to_owned());
        request.headers.push(key);
        let response = WebClient::default().send(&request).await;
        assert_eq!(response.expect("an answer").status, 200);
        let requests = server.requests();
        assert!(requests[1].starts_with("POST /hook/v2 "), "{requests:?}");
        assert!(requests[1].contains("Bearer KEY"), "{requests:?}");
    })
    .await;
}

/// Sends a foreign request for a name that has these addresses, through a proxy.
async fn fetch_behind(
    proxy: &Server,
    found: std::io::Result<Vec<IpAddr>>,
) -> Result<Response, WebError> {
    struct Fixed(Mutex<Option<std::io::Result<Vec<IpAddr>>>>);
    impl Lookup for Fixed {
        fn lookup(&self, _: String) -> LookupFuture {
            let found = self.0.lock().expect("no panic").take();
            Box::pin(async move { found.expect("one lookup") })
        }
    }
    let client = WebClient {
        proxies: ProxyVariables {
            http: Some(format!("127.0.0.1:{}", proxy.port)),
            ..ProxyVariables::default()
        },
        ..WebClient::with_lookup(Arc::new(Fixed(Mutex::new(Some(found)))))
    };
    let request = Request {
        method: Method::GET,
        body: Vec::new(),
        origin: Origin::Foreign,
        ..post("http://pages.example/news")
    };
    client.send(&request).await
}

#[tokio::test]
async fn a_page_whose_addresses_are_all_public_is_fetched_through_the_proxy() {
    run(async {
        let proxy = Server::start(vec![answer("200 OK", "", "the page")]).await;
        let found = ["8.8.8.8", "2606:4700::1111"].map(|text| text.parse().expect("an address"));
        let page = fetch_behind(&proxy, Ok(found.to_vec())).await;
        let page = page.expect("an answer");
        assert_eq!(
            (page.status, page.body.as_slice()),
            (200, b"the page".as_slice())
        );
        let requests = proxy.requests();
        assert!(
            requests[0].starts_with("GET http://pages.example/news HTTP/1.1"),
            "{requests:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_proxy_of_a_scheme_that_is_not_spoken_is_skipped() {
    run(async {
        let proxy = Server::start(vec![answer("200 OK", "", "the proxy")]).await;
        let client = WebClient::new(ProxyVariables {
            http: Some(format!("socks5://127.0.0.1:{}", proxy.port)),
            ..ProxyVariables::default()
        });
        // Nothing listens there, and it is none of the addresses that are always reached without a proxy.
        let direct = format!("http://127.0.0.2:{}/hook", proxy.port);
        let failed = client.send(&post(&direct)).await;
        assert!(matches!(failed, Err(WebError::Connection(_))), "{failed:?}");
        assert_eq!(proxy.requests(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_name_with_a_private_address_or_none_known_here_is_not_left_to_the_proxy() {
    run(async {
        let proxy = Server::start(vec![answer("200 OK", "", "secret")]).await;
        for (found, private) in [
            (&["10.0.0.1"][..], "10.0.0.1"),
            (&["8.8.8.8", "169.254.169.254"], "169.254.169.254"),
            (&["::1", "8.8.8.8"], "::1"),
        ] {
            let found = found.iter().map(|text| text.parse().expect("an address"));
            let refused = fetch_behind(&proxy, Ok(found.collect())).await;
            let expected = WebError::Forbidden {
                what: "http://pages.example".to_owned(),
                address: private.to_owned(),
            };
            assert_eq!(refused.expect_err("refused"), expected);
        }
        let failed = Err(std::io::Error::other("no resolver here"));
        for (found, reason) in [(failed, "no resolver here"), (Ok(Vec::new()), "no address")] {
            let refused = fetch_behind(&proxy, found).await;
            let refused = refused.expect_err("refused").to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        assert_eq!(proxy.requests(), Vec::<String>::new());
    })
    .await;
}

#[test]
fn a_site_is_its_origin_or_the_same_host_over_https() {
    let same = |first: &str, url: &str| {
        is_same_site(
            &Url::parse(first).expect("a URL"),
            &Url::parse(url).expect("a URL"),
        )
    };
    assert!(same("http://10.0.0.5:80/a", "http://10.0.0.5/b"));
    assert!(same("http://nas.local/a", "https://nas.local/a"));
    assert!(same("http://nas.local:8080/a", "https://nas.local:8443/a"));
    assert!(!same("https://nas.local/a", "http://nas.local/a"));
    assert!(!same("http://nas.local:80/a", "http://nas.local:81/a"));
    assert!(!same("http://nas.local/a", "https://other.local/a"));
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
