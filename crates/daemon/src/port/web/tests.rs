//! Fetches and searches against servers and programs of this test, on loopback.

use super::*;
use holon_config::{Env, FileSettings, Flags, resolve};
use holon_domain::web::{ExtractMode, SearchProviderKind};
use secrecy::SecretString;
use std::path::Path;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers every connection with the same words, and returns its port.
async fn serve(words: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serving = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0_u8; 4096];
            let _read = stream.read(&mut buffer).await;
            stream.write_all(words.as_bytes()).await.ok();
            stream.shutdown().await.ok();
        }
    };
    tokio::task::spawn_local(serving);
    port
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn web(content: &str) -> Web {
    web_in(Path::new("/nowhere"), content)
}

fn web_in(home: &Path, content: &str) -> Web {
    let file = FileSettings::parse(content, Path::new("/h/config.toml")).expect("settings");
    let flags = Flags {
        home: Some(home.to_owned()),
        ..Flags::default()
    };
    let settings = resolve(&Env::default(), &flags, Some(&file)).expect("settings");
    Web::new(&settings)
}

fn page(url: &str) -> WebFetch {
    WebFetch {
        url: url.to_owned(),
        max_chars: None,
        offset: 0,
        extract_mode: ExtractMode::Auto,
    }
}

fn query(provider: Option<&str>) -> WebSearch {
    WebSearch {
        query: "rust's async".to_owned(),
        max_results: None,
        provider: provider.map(str::to_owned),
    }
}

async fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(test).await
}

#[tokio::test]
async fn a_page_of_a_permitted_host_is_read_as_external_text() {
    run(async {
        let port = serve(answer(
            "404 Not Found",
            "text/html",
            "<h1>Gone</h1><p>Look elsewhere.",
        ))
        .await;
        let permitted = web("[web.fetch]\nprivate_hosts = ['127.0.0.1']");
        let url = format!("http://127.0.0.1:{port}/x");
        let found = permitted.fetch(page(&url)).await.expect("a page");
        assert_eq!(
            (found.status, found.text.as_str()),
            (404, "# Gone\n\nLook elsewhere.")
        );
        assert_eq!(
            (found.source.as_str(), found.truncated),
            ("external", false)
        );
        assert_eq!((found.final_url, found.bytes_read), (url.clone(), 31));
        let short = WebFetch {
            max_chars: Some(4),
            ..page(&url)
        };
        let short = permitted.fetch(short).await.expect("a page");
        assert_eq!((short.text.as_str(), short.truncated), ("# Go", true));
        assert_eq!(short.next_offset, Some(4));
        let part = |offset| WebFetch {
            offset,
            max_chars: Some(7),
            ..page(&url)
        };
        let next = permitted.fetch(part(4)).await.expect("a page");
        assert_eq!(
            (next.text.as_str(), next.next_offset),
            ("ne\n\nLoo", Some(11))
        );
        let last = permitted.fetch(part(14)).await.expect("a page");
        assert_eq!(
            (last.text.as_str(), last.next_offset),
            ("lsewher", Some(21))
        );
        let past = permitted.fetch(part(500)).await.expect_err("no text");
        assert_eq!(past.kind, ToolErrorKind::InvalidToolInput);
        assert!(
            past.message.contains("has 23 characters"),
            "{}",
            past.message
        );
        let refused = web("").fetch(page(&url)).await.expect_err("refused");
        assert_eq!(refused.kind, ToolErrorKind::NetworkDenied);
    })
    .await;
}

#[tokio::test]
async fn every_failure_has_its_kind() {
    run(async {
        let image = serve(answer("200 OK", "image/png", "x")).await;
        let lost = serve(
            "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n"
                .to_owned(),
        )
        .await;
        let ring =
            serve("HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n".to_owned())
                .await;
        let at = |port: u16| format!("http://127.0.0.1:{port}/");
        let settings =
            "[web.fetch]\nprivate_hosts = ['127.0.0.1']\ndenied_hosts = ['evil.example']";
        let denied = web(settings);
        for (url, kind) in [
            (at(image), ToolErrorKind::UnsupportedContentType),
            (at(lost), ToolErrorKind::InvalidRedirectLocation),
            (at(ring), ToolErrorKind::TooManyRedirects),
            ("ftp://example.com/".to_owned(), ToolErrorKind::InvalidUrl),
            ("example.com".to_owned(), ToolErrorKind::InvalidUrl),
            (
                "https://www.evil.example/".to_owned(),
                ToolErrorKind::NetworkDenied,
            ),
            ("http://[::1]/".to_owned(), ToolErrorKind::NetworkDenied),
            (
                "http://169.254.169.254/".to_owned(),
                ToolErrorKind::NetworkDenied,
            ),
        ] {
            let refused = denied.fetch(page(&url)).await.expect_err("refused");
            assert_eq!(refused.kind, kind, "{url}: {refused}");
        }
        let off = web("[web.fetch]\nenabled = false");
        let refused = off.fetch(page(&at(image))).await.expect_err("refused");
        assert_eq!(refused.kind, ToolErrorKind::WebFetchDisabled);
        assert_eq!(
            off.tools(),
            WebTools {
                fetch: false,
                search: false
            }
        );
    })
    .await;
}

#[tokio::test]
async fn a_page_that_is_too_long_is_cut_and_told() {
    run(async {
        let port = serve(answer("200 OK", "text/plain", &"x".repeat(5_000))).await;
        let bounded = web("[web.fetch]\nprivate_hosts = ['127.0.0.1']\nmax_response_bytes = 1000");
        let found = bounded
            .fetch(page(&format!("http://127.0.0.1:{port}/")))
            .await
            .expect("a part");
        assert_eq!(
            (found.bytes_read, found.text.len(), found.truncated),
            (1_000, 1_000, true)
        );
        let reason = found.cut_reason.expect("a reason");
        assert!(reason.contains("more than 1000 bytes"), "{reason}");
    })
    .await;
}

const COMMANDS: &str = r#"
    [web.providers.good]
    kind = "command"
    command.argv = ["sh", "-c", 'read q; printf "{\"title\": \"%s of %s\", \"url\": \"https://a.org/1\"}\n" "$q" "$HOLON_SEARCH_MAX_RESULTS"']
    [web.providers.empty]
    kind = "command"
    command.argv = ["true"]
    [web.providers.broken]
    kind = "command"
    command.argv = ["sh", "-c", "echo complaint >&2; exit 3"]
    [web.providers.endless]
    kind = "command"
    command.argv = ["yes"]
    limits.timeout_ms = 300
    [web.providers.long]
    kind = "command"
    command.argv = ["head", "-c", "5000", "/dev/zero"]
    limits.max_output_bytes = 1000
"#;

#[tokio::test]
async fn a_command_searches_and_the_next_provider_is_asked_when_one_has_nothing() {
    let searching = |search: &str| web(&format!("[web.search]\n{search}\n{COMMANDS}"));
    let order = "providers = ['broken', 'empty', 'good']";
    let found = searching(order).search(query(None)).await.expect("results");
    let titles: Vec<&str> = found.results.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(titles, ["rust's async of 5"]);
    assert_eq!(found.winning_provider.as_deref(), Some("good"));
    let attempts: Vec<(&str, u64, bool)> = found
        .provider_attempts
        .iter()
        .map(|one| (one.provider.as_str(), one.result_count, one.error.is_some()))
        .collect();
    assert_eq!(
        attempts,
        [("broken", 0, true), ("empty", 0, false), ("good", 1, false)]
    );
    let complaint = found.provider_attempts[0].error.as_deref();
    assert_eq!(complaint, Some("it ended with exit status 3: complaint"));
    let single = searching("provider = 'empty'\nmode = 'single'");
    let found = single.search(query(None)).await.expect("an answer");
    assert_eq!((found.results.len(), found.provider_attempts.len()), (0, 1));
    let named = searching(order)
        .search(query(Some("good")))
        .await
        .expect("results");
    assert_eq!(
        (named.provider.as_str(), named.provider_attempts.len()),
        ("good", 1)
    );
    let all = searching("mode = 'aggregate'\nproviders = ['good', 'empty']");
    let found = all.search(query(None)).await.expect("results");
    assert_eq!((found.results.len(), found.provider_attempts.len()), (1, 2));
}

#[tokio::test]
async fn a_search_that_nobody_answers_says_what_went_wrong() {
    let searching = web(COMMANDS);
    for (provider, kind, words) in [
        (
            "broken",
            ToolErrorKind::ProviderUnavailable,
            "exit status 3",
        ),
        ("endless", ToolErrorKind::ProviderUnavailable, "300 ms"),
        (
            "long",
            ToolErrorKind::ResponseTooLarge,
            "more than 1000 bytes",
        ),
        (
            "none",
            ToolErrorKind::ProviderUnavailable,
            "no search provider",
        ),
    ] {
        let refused = searching
            .search(query(Some(provider)))
            .await
            .expect_err(provider);
        assert_eq!(refused.kind, kind, "{provider}");
        assert!(refused.message.contains(words), "{provider}: {refused}");
    }
    assert_eq!(searching.tools(), WebTools::ALL);
    let none = web("").search(query(None)).await.expect_err("refused");
    assert_eq!(none.kind, ToolErrorKind::ProviderUnavailable);
    assert!(!web("").tools().search);
    let off = web(&format!("[web.search]\nenabled = false\n{COMMANDS}"));
    assert!(!off.tools().search);
    off.search(query(None)).await.expect_err("is off");
}

#[tokio::test]
async fn a_service_is_asked_with_its_key_which_no_error_shows() {
    run(async {
        let home = tempfile::tempdir().expect("a home");
        let key = SecretString::from("SECRET-KEY");
        let kind = holon_domain::provider::AuthKind::ApiKey;
        holon_config::credentials::set(home.path(), "search", kind, &key).expect("stored");
        let searching = |port: u16| {
            let content = format!(
                "[web.providers.mine]\nkind = 'brave'\nbase_url = 'http://127.0.0.1:{port}'\ncredential_profile = 'search'"
            );
            web_in(home.path(), &content)
        };
        let body = r#"{"web": {"results": [{"title": "T", "url": "https://a.org/"}]}}"#;
        let port = serve(answer("200 OK", "application/json", body)).await;
        let found = searching(port).search(query(None)).await.expect("results");
        assert_eq!(found.results.len(), 1);
        assert_eq!(found.provider_attempts[0].kind, SearchProviderKind::Brave);
        for (status, kind) in [
            ("429 Too Many Requests", ToolErrorKind::RateLimited),
            ("401 Unauthorized", ToolErrorKind::ProviderUnavailable),
        ] {
            let port = serve(answer(status, "text/plain", "the key SECRET-KEY is bad")).await;
            let refused = searching(port).search(query(None)).await.expect_err("refused");
            assert_eq!(refused.kind, kind);
            assert!(!format!("{refused:?}").contains("SECRET-KEY"), "{refused:?}");
        }
        let port = serve(answer("200 OK", "application/json", "<html>")).await;
        let refused = searching(port).search(query(None)).await.expect_err("refused");
        assert_eq!(refused.kind, ToolErrorKind::ParseFailed);
    })
    .await;
}
