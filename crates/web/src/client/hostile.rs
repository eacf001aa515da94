//! Servers that mean harm: bodies and redirects without an end, compressed zeros, names that change their address.

use super::*;
use crate::resolve::LookupFuture;
use flate2::{Compress, Compression, FlushCompress};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Gives every name the addresses in turn, and counts the look-ups.
#[derive(Default)]
struct Turning {
    addresses: Vec<IpAddr>,
    asked: AtomicUsize,
}

impl Turning {
    fn to(addresses: &[[u8; 4]]) -> Arc<Self> {
        Arc::new(Self {
            addresses: addresses.iter().map(|octets| (*octets).into()).collect(),
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Lookup for Turning {
    fn lookup(&self, _: String) -> LookupFuture {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst);
        let address = self.addresses[turn % self.addresses.len()];
        Box::pin(async move { Ok(vec![address]) })
    }
}

/// Answers every connection of a listener in the same way, and counts requests and bytes.
struct Server {
    port: u16,
    requests: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
    _task: tokio::task::JoinHandle<()>,
}

#[derive(Clone, Copy)]
enum Conduct {
    /// Redirects to the next number of its path, for ever.
    RedirectsOn,
    /// Writes this head, then this piece again and again.
    Repeats(&'static str, &'static [u8]),
    /// Writes this and nothing more, but keeps the connection.
    Stops(&'static str),
}

impl Server {
    async fn start(conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (requests, sent) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let counters = (Arc::clone(&requests), Arc::clone(&sent));
        let _task = tokio::task::spawn_local(async move {
            let open: Mutex<Vec<TcpStream>> = Mutex::default();
            while let Ok((mut stream, _)) = listener.accept().await {
                let number = counters.0.fetch_add(1, Ordering::SeqCst);
                let mut buffer = vec![0_u8; 4096];
                let _read = stream.read(&mut buffer).await;
                match conduct {
                    Conduct::RedirectsOn => {
                        let head = format!(
                            "HTTP/1.1 302 Found\r\nlocation: /{number}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                        );
                        stream.write_all(head.as_bytes()).await.ok();
                    }
                    Conduct::Repeats(head, piece) => {
                        stream.write_all(head.as_bytes()).await.ok();
                        while stream.write_all(piece).await.is_ok() {
                            counters.1.fetch_add(piece.len(), Ordering::SeqCst);
                        }
                    }
                    Conduct::Stops(words) => {
                        stream.write_all(words.as_bytes()).await.ok();
                        open.lock().expect("no panic").push(stream);
                    }
                }
            }
        });
        Self {
            port,
            requests,
            sent,
            _task,
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

fn fetch(url: &str, private: &[&str]) -> Request {
    Request {
        method: Method::GET,
        url: url.to_owned(),
        origin: Origin::Foreign,
        headers: Vec::new(),
        body: Vec::new(),
        timeout: Duration::from_secs(20),
        max_bytes: 100_000,
        max_redirects: 5,
        rules: HostRules {
            private: private.iter().map(|&host| host.to_owned()).collect(),
            ..HostRules::default()
        },
    }
}

async fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(test).await
}

#[tokio::test]
async fn a_page_that_never_ends_is_cut_at_the_bytes() {
    run(async {
        let piece = b"400\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
        let server = Server::start(Conduct::Repeats(head, piece)).await;
        let request = fetch(&server.url(), &["127.0.0.1"]);
        let answer = WebClient::default().send(&request).await.expect("a part");
        assert_eq!((answer.body.len(), answer.cut), (100_000, Some(Cut::Bytes)));
    })
    .await;
}

#[tokio::test]
async fn a_page_that_stops_in_the_middle_is_cut_at_the_time_and_its_beginning_is_kept() {
    run(async {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nthe beginning";
        let server = Server::start(Conduct::Stops(head)).await;
        let request = Request {
            timeout: Duration::from_millis(300),
            ..fetch(&server.url(), &["127.0.0.1"])
        };
        let answer = WebClient::default().send(&request).await.expect("a part");
        assert_eq!(answer.body, b"the beginning");
        assert_eq!(answer.cut, Some(Cut::Time));
    })
    .await;
}

#[tokio::test]
async fn a_head_without_an_end_is_refused_long_before_it_fills_the_memory() {
    run(async {
        let line = b"x-header-of-some-length: 0123456789012345678901234567890123456789\r\n";
        let server = Server::start(Conduct::Repeats("HTTP/1.1 200 OK\r\n", line)).await;
        let request = fetch(&server.url(), &["127.0.0.1"]);
        let refused = WebClient::default().send(&request).await;
        assert!(
            matches!(refused, Err(WebError::Connection(_))),
            "{refused:?}"
        );
        assert!(server.sent.load(Ordering::SeqCst) < 8 << 20);
    })
    .await;
}

/// Compressed zeros without an end: 64 KiB of them take about 80 bytes.
fn packed_zeros() -> (&'static [u8], &'static [u8]) {
    let mut packer = Compress::new(Compression::best(), false);
    let zeros = vec![0_u8; 64 << 10];
    let mut pack = || {
        let mut packed = Vec::with_capacity(4096);
        packer
            .compress_vec(&zeros, &mut packed, FlushCompress::Full)
            .expect("packs");
        packed
    };
    let first = pack();
    let head = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255][..], &first].concat();
    (Vec::leak(head), Vec::leak(pack()))
}

#[tokio::test]
async fn compressed_zeros_are_counted_after_decompression() {
    run(async {
        let (head, piece) = packed_zeros();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let sent = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&sent);
        let _task = tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut buffer = vec![0_u8; 4096];
            let _read = stream.read(&mut buffer).await;
            let words =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\r\n";
            stream.write_all(words).await.ok();
            stream.write_all(head).await.ok();
            while stream.write_all(piece).await.is_ok() {
                counted.fetch_add(64 << 10, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        });
        let request = Request {
            max_bytes: 750_000,
            ..fetch(&format!("http://127.0.0.1:{port}/"), &["127.0.0.1"])
        };
        let answer = WebClient::default().send(&request).await.expect("a part");
        assert_eq!((answer.body.len(), answer.cut), (750_000, Some(Cut::Bytes)));
        assert!(answer.body.iter().all(|byte| *byte == 0));
    })
    .await;
}

#[tokio::test]
async fn redirects_for_ever_end_at_the_bound() {
    run(async {
        let server = Server::start(Conduct::RedirectsOn).await;
        let request = fetch(&server.url(), &["127.0.0.1"]);
        let refused = WebClient::default().send(&request).await;
        assert_eq!(refused.expect_err("refused"), WebError::TooManyRedirects(5));
        assert_eq!(server.requests.load(Ordering::SeqCst), 6);
        let none = Request {
            max_redirects: 0,
            ..request
        };
        let refused = WebClient::default().send(&none).await;
        assert_eq!(refused.expect_err("refused"), WebError::TooManyRedirects(0));
    })
    .await;
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_checked() {
    run(async {
        let inside = Server::start(Conduct::Stops(
            "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret",
        ))
        .await;
        let url = format!("http://turning.example:{}/", inside.port);
        // One look-up decides, and it shows a private address: nothing is sent.
        let private_first = Turning::to(&[[127, 0, 0, 1], [8, 8, 8, 8]]);
        let client = WebClient::with_lookup(Arc::clone(&private_first) as Arc<dyn Lookup>);
        let refused = client.send(&fetch(&url, &[])).await.expect_err("refused");
        assert!(matches!(refused, WebError::Forbidden { .. }), "{refused:?}");
        assert_eq!(private_first.asked(), 1);
        assert_eq!(inside.requests.load(Ordering::SeqCst), 0);
        // A permitted name is looked up once too, and the connection goes to what was found.
        let permitted = Turning::to(&[[127, 0, 0, 1], [192, 0, 0, 170]]);
        let client = WebClient::with_lookup(Arc::clone(&permitted) as Arc<dyn Lookup>);
        let answer = client.send(&fetch(&url, &["turning.example"])).await;
        assert_eq!(answer.expect("an answer").body, b"secret");
        assert_eq!(permitted.asked(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_permitted_host_cannot_lead_to_one_that_is_not() {
    run(async {
        let inside = Server::start(Conduct::Stops(
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        ))
        .await;
        let port = inside.port;
        for target in [
            format!("http://127.0.0.1:{port}/"),
            format!("http://2130706433:{port}/"),
            format!("http://0x7f.1:{port}/"),
            format!("http://[::ffff:7f00:1]:{port}/"),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "http://100.100.100.200/".to_owned(),
        ] {
            let words =
                format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            let outside = Server::start(Conduct::Stops(String::leak(words))).await;
            let allowed = format!("127.0.0.1:{}", outside.port);
            let refused = WebClient::default()
                .send(&fetch(&outside.url(), &[&allowed]))
                .await;
            assert!(
                matches!(refused, Err(WebError::Forbidden { .. })),
                "{target}: {refused:?}"
            );
        }
        let long = format!("/{}", "say-".repeat(1_000));
        for target in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "http://",
            &long,
        ] {
            let words =
                format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            let outside = Server::start(Conduct::Stops(String::leak(words))).await;
            let refused = WebClient::default()
                .send(&fetch(&outside.url(), &["127.0.0.1"]))
                .await;
            assert!(
                matches!(refused, Err(WebError::BadRedirect { .. })),
                "{target}: {refused:?}"
            );
        }
        assert_eq!(inside.requests.load(Ordering::SeqCst), 0);
    })
    .await;
}

#[tokio::test]
async fn a_key_stays_with_the_first_site() {
    run(async {
        let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = other.local_addr().expect("an address").port();
        let words = format!(
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{port}/\r\ncontent-length: 0\r\n\r\n"
        );
        let first = Server::start(Conduct::Stops(String::leak(words))).await;
        let header = |name: &str| (name.to_owned(), "KEY".to_owned());
        let request = Request {
            headers: vec![
                header("authorization"),
                header("x-api-key"),
                header("x-subscription-token"),
                header("accept"),
            ],
            ..fetch(&first.url(), &["127.0.0.1"])
        };
        let client = WebClient::default();
        let seen = async {
            let (mut stream, _) = other.accept().await.expect("a connection");
            let mut buffer = vec![0_u8; 4096];
            let count = stream.read(&mut buffer).await.expect("a request");
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await
                .ok();
            String::from_utf8_lossy(&buffer[..count]).into_owned()
        };
        let (answer, seen) = tokio::join!(client.send(&request), seen);
        assert_eq!(answer.expect("an answer").status, 200);
        assert_eq!(seen.matches("KEY").count(), 1, "{seen}");
        assert!(seen.contains("accept: KEY"), "{seen}");
    })
    .await;
}
