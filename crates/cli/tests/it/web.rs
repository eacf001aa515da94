//! Web tools and images with the real program: pages of a server on this machine, a search by a command, and an image in
//! a provider's request.

use crate::models::{Entry, configure, key_in};
use crate::support::world;
use holon_testkit::World;
use holon_testkit::provider::{Protocol, Provider, Round, Script};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

/// A PNG with one red pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Serves one page to every connection, on a thread that ends with the test.
fn page_server(body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = [0_u8; 4096];
            let _read = stream.read(&mut buffer);
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).ok();
            stream.write_all(body.as_bytes()).ok();
        }
    });
    port
}

/// Runs a script of calls and returns what the model said last.
fn run_script(world: &World, settings: &str, calls: &Value) -> String {
    let config = world.write("holon/config.toml", settings);
    let home = config.parent().unwrap();
    std::fs::set_permissions(home, std::fs::Permissions::from_mode(0o700)).unwrap();
    let rounds = json!([{ "calls": calls }, { "text": "Told: {{tool_result}}" }]);
    let script = world.write("script.json", &json!({ "rounds": rounds }).to_string());
    let model = format!("scripted/{}", script.display());
    let said = world.run(&["run", "go", "--model", &model]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.answer().to_owned()
}

#[test]
fn a_page_of_a_permitted_host_is_read_and_one_of_another_is_refused() {
    let port = page_server("<title>News</title><p>It is <b>spring</b>.");
    let world = world();
    let fetch = json!([{ "tool": "WebFetch", "input": { "url": format!("http://127.0.0.1:{port}/news") } }]);
    let refused = run_script(&world, "", &fetch);
    assert!(refused.contains("network_denied"), "{refused}");
    assert!(refused.contains("not a public address"), "{refused}");
    let permitted = format!("[web.fetch]\nprivate_hosts = ['127.0.0.1:{port}']\n");
    let read = run_script(&world, &permitted, &fetch);
    assert!(read.contains("status 200 (text/html"), "{read}");
    assert!(read.contains("external content"), "{read}");
    assert!(read.contains("News\n\nIt is spring."), "{read}");
}

#[test]
fn a_command_searches_the_web() {
    let world = world();
    let settings = r#"
        [web.providers.own]
        kind = "command"
        command.argv = ["sh", "-c", 'read q; printf "[{\"title\": \"About %s\", \"url\": \"https://example.com/\"}]" "$q"']
    "#;
    let search = json!([{ "tool": "WebSearch", "input": { "query": "beds" } }]);
    let found = run_script(&world, settings, &search);
    assert!(found.contains("provider own: 1 result"), "{found}");
    assert!(
        found.contains("1. About beds\n   https://example.com/"),
        "{found}"
    );
}

fn seeing(world: &World, provider: &Provider, sees: bool) -> Output {
    std::fs::create_dir_all(world.path().join("project")).unwrap();
    std::fs::write(world.path().join("project/red.png"), PIXEL).unwrap();
    let settings =
        format!("model.default = \"lab/eyes\"\nmodels.catalog.\"lab/eyes\".image_input = {sees}\n");
    let entry = Entry {
        auth: key_in("FAKE_KEY"),
        ..Entry::new("lab", Protocol::Messages, provider.base_url())
    };
    configure(world, &settings, &[entry]);
    let root = world.path().join("project").display().to_string();
    let mut command = world.command();
    command.args(["run", "look", "--json", "--workspace-root", &root]);
    command.env("FAKE_KEY", "sk-fake").output().unwrap()
}

fn looks() -> Provider {
    Provider::start(Script::of([
        Round::empty().call("ViewImage", json!({ "file_path": "red.png" })),
        Round::text("Red."),
    ]))
}

#[test]
fn a_model_that_sees_gets_the_image_and_one_that_does_not_is_told_so() {
    let (world, provider) = (world(), looks());
    let output = seeing(&world, &provider, true);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let asked = provider.finish();
    let shown = asked[1].body["messages"].to_string();
    assert!(shown.contains(r#""media_type":"image/png""#), "{shown}");
    assert!(shown.contains("iVBORw0KGgo"), "{shown}");
    assert!(
        shown.contains("red.png (image/png, 1 x 1, 69 bytes)"),
        "{shown}"
    );
    for file in ["holon.sqlite3", "holon.sqlite3-wal"] {
        let bytes = std::fs::read(world.home().join("state").join(file)).unwrap_or_default();
        let held = bytes.windows(11).any(|part| part == b"iVBORw0KGgo");
        assert!(!held, "{file} holds the image");
    }
    let (world, provider) = (crate::support::world(), looks());
    let output = seeing(&world, &provider, false);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = provider.finish()[1].tool_outputs().concat();
    assert!(told.contains("unsupported_runtime_capability"), "{told}");
}
