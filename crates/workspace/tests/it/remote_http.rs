//! Fetches over HTTP from a server on this machine: one that serves repositories, and some that misbehave.

use crate::hub::{Hub, install_with};
use holon_domain::guidance::SkillSource;
use holon_workspace::{FetchError, Fetcher, Git, GitHost, SkillError};
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a server does with every request.
#[derive(Debug, Clone)]
enum Conduct {
    /// Serves the repositories in this directory.
    Serve(PathBuf),
    Redirect(String),
    /// Sends a list of refs that never ends.
    Endless,
    /// Reads the request and does not answer.
    Silent,
    AskForPassword,
}

/// A server of this conduct. It ends with the test's process.
struct Server {
    base: String,
    /// First line and headers of every request.
    heard: Arc<Mutex<Vec<String>>>,
}

fn start(conduct: Conduct) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&heard);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (conduct, all) = (conduct.clone(), Arc::clone(&all));
            // A client that has gone ends its own conversation.
            thread::spawn(move || answer(stream, &conduct, &all).ok());
        }
    });
    Server { base, heard }
}

fn answer(
    mut stream: TcpStream,
    conduct: &Conduct,
    heard: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        head.push(line.trim_end().to_owned());
        line.clear();
    }
    let header = |name: &str| {
        let lines = head.iter().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").and_then(|value| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    heard.lock().unwrap().extend(head.iter().cloned());
    match conduct {
        Conduct::Serve(root) => serve(&mut stream, root, &head, &header, &body),
        Conduct::Redirect(to) => write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        Conduct::Endless => endless(&mut stream),
        Conduct::Silent => stream.read(&mut [0]).map(drop),
        Conduct::AskForPassword => write!(
            stream,
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"
        ),
    }
}

/// Answers with what git's own server prints.
fn serve(
    stream: &mut TcpStream,
    root: &Path,
    head: &[String],
    header: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> std::io::Result<()> {
    let mut words = head[0].split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        .env(
            "HTTP_CONTENT_ENCODING",
            header("content-encoding").unwrap_or_default(),
        )
        .env(
            "HTTP_GIT_PROTOCOL",
            header("git-protocol").unwrap_or_default(),
        )
        .env("GIT_PROTOCOL", header("git-protocol").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().unwrap().write_all(body)?;
    let printed = child.wait_with_output()?.stdout;
    let text = String::from_utf8_lossy(&printed);
    let status = text.lines().find_map(|line| line.strip_prefix("Status: "));
    let status = status.unwrap_or("200 OK");
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n")?;
    stream.write_all(&printed)
}

/// Sends a list of refs without an end.
fn endless(stream: &mut TcpStream) -> std::io::Result<()> {
    let kind = "application/x-git-upload-pack-advertisement";
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    )?;
    write!(stream, "001e# service=git-upload-pack\n0000")?;
    let line = format!("{} HEAD\0 side-band-64k\n", "1".repeat(40));
    loop {
        write!(stream, "{:04x}{line}", line.len() + 4)?;
    }
}

fn fetcher(hub: &Hub, server: &Server) -> Fetcher {
    Fetcher::new(
        Git::default(),
        GitHost::new(&server.base),
        hub.path("fetch"),
    )
}

fn source() -> SkillSource {
    SkillSource::Remote {
        package: "acme/agents@pdf".to_owned(),
        skill: None,
    }
}

fn refusal(hub: &Hub, fetcher: &Fetcher) -> FetchError {
    let refused = install_with(&hub.home(), &source(), fetcher).unwrap_err();
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
    assert!(!hub.home().join("skills").exists());
    match refused {
        SkillError::Fetch(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_skill_is_fetched_over_http_without_a_credential() {
    let hub = Hub::new();
    hub.put_skill("skills/pdf")
        .put("large.bin", vec![7; 1 << 20]);
    hub.push();
    let server = start(Conduct::Serve(hub.path("hub")));
    let installed = install_with(&hub.home(), &source(), &fetcher(&hub, &server));
    assert_eq!(installed.unwrap(), "pdf");
    let heard = server.heard.lock().unwrap().join("\n").to_lowercase();
    assert!(heard.contains("git-upload-pack"), "{heard}");
    assert!(!heard.contains("authorization"), "{heard}");
    assert!(!heard.contains("cookie"), "{heard}");
}

#[test]
fn a_repository_that_is_not_there_is_named() {
    let hub = Hub::new();
    let server = start(Conduct::Serve(hub.path("nowhere")));
    let refused = refusal(&hub, &fetcher(&hub, &server)).to_string();
    assert!(
        refused.contains("https://github.com/acme/agents cannot be read"),
        "{refused}"
    );
}

#[test]
fn a_server_cannot_send_git_to_a_file_or_a_program() {
    for to in [
        "file:///etc",
        "ext::sh -c id",
        "ftp://127.0.0.1/x",
        "ssh://127.0.0.1/x",
    ] {
        let hub = Hub::new();
        hub.put_skill("skills/pdf");
        hub.push();
        let target = match to {
            "file:///etc" => format!(
                "file://{}/acme/agents.git/info/refs",
                hub.path("hub").display()
            ),
            other => other.to_owned(),
        };
        let server = start(Conduct::Redirect(target));
        let refused = refusal(&hub, &fetcher(&hub, &server));
        assert!(
            matches!(refused, FetchError::Unreachable { .. }),
            "{to}: {refused:?}"
        );
    }
}

#[test]
fn a_server_that_asks_for_a_password_gets_none_and_no_prompt_appears() {
    let hub = Hub::new();
    let server = start(Conduct::AskForPassword);
    let refused = refusal(&hub, &fetcher(&hub, &server));
    assert!(
        matches!(refused, FetchError::Unreachable { .. }),
        "{refused:?}"
    );
    let heard = server.heard.lock().unwrap().join("\n").to_lowercase();
    assert!(!heard.contains("authorization"), "{heard}");
}

#[test]
fn a_server_that_does_not_answer_or_never_ends_is_given_up() {
    for conduct in [Conduct::Silent, Conduct::Endless] {
        let hub = Hub::new();
        let server = start(conduct.clone());
        let limit = Duration::from_millis(1_500);
        let fetcher = fetcher(&hub, &server).with_bounds(limit, 1 << 20);
        let refused = refusal(&hub, &fetcher);
        assert!(
            matches!(
                refused,
                FetchError::OutOfBounds { .. } | FetchError::Unreachable { .. }
            ),
            "{conduct:?}: {refused:?}"
        );
    }
}
