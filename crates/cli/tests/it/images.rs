//! Images that an operator sends: over the command line and HTTP, in every protocol of a provider, over restarts, and what
//! is refused or removed.

use crate::models::{Entry, configure, key_in, together};
use crate::support::{hello, until, world};
use holon_testkit::provider::{Point, Protocol, Provider, RecordedRequest, Round, Script};
use holon_testkit::{HostProcess, ProgramOutput, World};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const KEY: (&str, &str) = ("FAKE_KEY", "sk-fake");

/// A PNG of this size. Its header and its end are real.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(b"\0\0\0\0IDAT\0\0\0\0\0\0\0\0IEND\xae\x42\x60\x82");
    bytes
}

/// Writes an image into the directory of a world and returns its path.
fn image_file(world: &World, name: &str, bytes: &[u8]) -> String {
    let path = world.path().join(name);
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// Names a provider whose model takes images, or takes none.
fn choose(world: &World, provider: &Provider, protocol: Protocol, sees: bool) {
    let settings =
        format!("model.default = \"lab/eyes\"\nmodels.catalog.\"lab/eyes\".image_input = {sees}\n");
    let entry = Entry {
        auth: key_in(KEY.0),
        ..Entry::new("lab", protocol, provider.base_url())
    };
    configure(world, &settings, &[entry]);
}

fn run(world: &World, args: &[&str]) -> ProgramOutput {
    world.run_in(args, b"", &[KEY])
}

fn serve(world: &World) -> HostProcess {
    world.serve_with(&[], &[KEY])
}

/// The messages of a request, as its protocol calls them.
fn messages(request: &RecordedRequest) -> &[Value] {
    let body = &request.body;
    let list = body["messages"]
        .as_array()
        .or_else(|| body["input"].as_array());
    list.expect("a list of messages")
}

/// Returns the content parts of the last message of the user.
fn last_parts(request: &RecordedRequest) -> Vec<Value> {
    let last = messages(request).last().expect("a message");
    assert_eq!(last["role"], "user", "{last}");
    last["content"].as_array().expect("parts").clone()
}

/// Returns the bytes of the image of a part in base64, if it is one.
fn image_in(part: &Value) -> Option<&str> {
    let url = match part["type"].as_str()? {
        "image" => {
            assert_eq!(part["source"]["type"], "base64");
            assert_eq!(part["source"]["media_type"], "image/png");
            return part["source"]["data"].as_str();
        }
        "image_url" => part["image_url"]["url"].as_str()?,
        "input_image" => part["image_url"].as_str()?,
        _ => return None,
    };
    url.strip_prefix("data:image/png;base64,")
}

fn images_in(request: &RecordedRequest) -> usize {
    let parts = messages(request).iter().filter_map(|one| {
        let parts = one["content"].as_array()?;
        Some(parts.iter().filter_map(image_in).count())
    });
    parts.sum()
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Sends a request with a body of bytes to a host, and returns status and body of the response.
fn post(world: &World, addr: &str, path: &str, kind: &str, body: &[u8]) -> (u16, Value) {
    let token = fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let mut stream = TcpStream::connect(addr).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {}\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        token.trim(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

fn upload(world: &World, host: &HostProcess, bytes: &[u8]) -> String {
    let (status, kept) = post(world, &host.addr, "/control/images", "image/png", bytes);
    assert_eq!(status, 200, "{kept}");
    kept["digest"].as_str().unwrap().to_owned()
}

/// The file of an image in the home of a world.
fn file_of(world: &World, digest: &str) -> PathBuf {
    let name = digest.strip_prefix("sha256:").unwrap();
    world.home().join("state/images").join(name)
}

/// Makes a file look as if it had been written long ago.
fn age(path: &PathBuf) {
    let file = File::options().write(true).open(path).unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::from_hours(24);
    file.set_modified(then).unwrap();
}

#[test]
fn a_run_shows_the_images_beside_the_text_in_every_protocol() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let provider = Provider::start(Script::of([Round::text("Two of them.")]));
        choose(&world, &provider, *protocol, true);
        let (small, wide) = (png(8, 6), png(800, 600));
        let (a, b) = (
            image_file(&world, "a.png", &small),
            image_file(&world, "b.png", &wide),
        );
        let ran = run(
            &world,
            &["run", "What is it?", "--image", &a, "--image", &b],
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.answer().trim_end(), "Two of them.");
        let asked = provider.finish();
        let parts = last_parts(&asked[0]);
        let [.., words, first, second] = parts.as_slice() else {
            panic!("{parts:?}");
        };
        let words = words["text"].as_str().unwrap();
        assert!(words.contains("What is it?\n[image 1: sha256:"), "{words}");
        assert!(words.contains("… 8 x 6 png]\n[image 2: sha256:"), "{words}");
        assert!(words.ends_with("… 800 x 600 png]"), "{words}");
        assert_eq!(image_in(first), Some(base64_of(&small).as_str()));
        assert_eq!(image_in(second), Some(base64_of(&wide).as_str()));
        let stored = fs::read(world.home().join("state/holon.sqlite3")).unwrap();
        let held = stored.windows(11).any(|part| part == b"iVBORw0KGgo");
        assert!(!held, "the database holds the image");
    });
}

#[test]
fn a_model_that_takes_no_images_gets_a_note() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let provider = Provider::start(Script::of([Round::text("I cannot see it.")]));
        choose(&world, &provider, *protocol, false);
        let file = image_file(&world, "a.png", &png(8, 6));
        let ran = run(&world, &["run", "What is it?", "--image", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let asked = provider.finish();
        assert_eq!(images_in(&asked[0]), 0);
        assert!(asked[0].contains("… 8 x 6 png]"));
        assert!(asked[0].contains("[image 1 is not shown: this model takes no images]"));
    });
}

#[test]
fn an_image_is_shown_after_a_crash_and_in_later_turns_until_its_file_is_gone() {
    let world = world();
    let provider = Provider::start(Script::of([
        Round::text("Too late.").hold(Point::BeforeHeaders, "first"),
        Round::text("A red square."),
        Round::text("Still red."),
        Round::text("I do not know."),
    ]));
    choose(&world, &provider, Protocol::Chat, true);
    let file = image_file(&world, "a.png", &png(8, 6));
    let served = serve(&world);
    let sent = run(
        &world,
        &["prompt", "What is it?", "--image", &file, "--json"],
    );
    assert_eq!(sent.code, Some(0), "{sent:?}");
    provider.gate("first").reached();
    served.crash();
    provider.gate("first").open();
    let served = serve(&world);
    provider.wait_for_requests(2);
    let briefs = |count: usize| {
        until("a brief", || {
            let told = run(&world, &["tail", "--json"]);
            told.json()
                .as_array()
                .is_some_and(|told| told.len() >= count)
        });
    };
    briefs(1);
    assert_eq!(run(&world, &["prompt", "And now?"]).code, Some(0));
    briefs(2);
    let transcript = run(&world, &["transcript"]);
    assert!(transcript.stdout.contains("… 8 x 6 png]"), "{transcript:?}");
    for entry in fs::read_dir(world.home().join("state/images")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(run(&world, &["prompt", "And now?"]).code, Some(0));
    briefs(3);
    drop(served);
    let asked = provider.finish();
    assert_eq!(images_in(&asked[1]), 1, "after the crash");
    let shown = messages(&asked[1]);
    assert_eq!(&messages(&asked[2])[..shown.len()], shown, "as it was");
    assert_eq!(images_in(&asked[3]), 0);
    assert!(asked[3].contains("[image 1 is not shown: the image is gone]"));
}

#[test]
fn what_is_no_image_is_refused_before_anything_is_sent() {
    let world = world();
    let text = image_file(&world, "a.txt", b"words");
    let mut large = png(8, 6);
    large.resize(6_000_000, 0);
    let large = image_file(&world, "large.png", &large);
    let cut = image_file(&world, "cut.png", &png(8, 6)[..40]);
    let missing = world.path().join("none.png").display().to_string();
    let fine = image_file(&world, "b.png", &png(8, 6));
    let model = hello(&world);
    let served = world.serve(&["--model", &model]);
    let nine: Vec<&str> = [["--image", fine.as_str()]; 9].concat();
    for (options, code, words) in [
        (
            vec!["--image", &text],
            2,
            "is no png, jpeg, gif or webp image",
        ),
        (vec!["--image", &missing], 2, "No such file"),
        (vec!["--image", &large], 1, "has more than 5000000 bytes"),
        (vec!["--image", &cut], 1, "is cut off or damaged"),
        (nine, 2, "a message may have 8 images"),
    ] {
        for command in ["prompt", "run"] {
            let ran = world.run(&[&[command, "look"], &options[..]].concat());
            assert_eq!(ran.code, Some(code), "{ran:?}");
            assert!(ran.stderr.contains(words), "{ran:?}");
        }
    }
    // Without a host the same is refused.
    drop(served);
    let ran = world.run(&["run", "look", "--image", &cut, "--model", &model]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is cut off or damaged"), "{ran:?}");
}

#[test]
fn http_takes_images_and_refuses_what_is_none_with_its_reason() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let send = |kind: &str, body: &[u8]| post(&world, &served.addr, "/control/images", kind, body);
    let bytes = png(8, 6);
    let (status, kept) = send("image/png", &bytes);
    assert_eq!(status, 200, "{kept}");
    let digest = kept["digest"].as_str().unwrap().to_owned();
    let expected = json!({
        "digest": digest, "media_type": "image/png", "width": 8, "height": 6, "bytes": bytes.len(),
    });
    assert_eq!(kept, expected);
    assert_eq!(
        send("image/jpeg", &bytes),
        (200, expected),
        "the bytes decide"
    );
    let mut large = png(8, 6);
    large.resize(6_000_000, 0);
    for (kind, body, status, code) in [
        (
            "application/json",
            &b"{}"[..],
            415,
            "unsupported_media_type",
        ),
        ("text/plain", b"words", 415, "unsupported_media_type"),
        ("image/png", b"words", 422, "invalid_image"),
        ("image/png", b"", 422, "invalid_image"),
        ("image/png", &png(9_000, 6), 422, "image_too_wide"),
        ("image/png", &large, 413, "image_too_large"),
    ] {
        let (found, refused) = send(kind, body);
        assert_eq!(
            (found, refused["code"].as_str()),
            (status, Some(code)),
            "{refused}"
        );
        assert!(refused["hint"].is_string(), "{refused}");
    }
    let prompt = |images: Value| {
        let body = json!({ "text": "look", "images": images }).to_string();
        let path = "/control/agents/main/prompt";
        post(
            &world,
            &served.addr,
            path,
            "application/json",
            body.as_bytes(),
        )
    };
    assert_eq!(prompt(json!([digest])).0, 200);
    let unknown = format!("sha256:{}", "0".repeat(64));
    for (images, status, code, words) in [
        (
            json!([digest, unknown]),
            422,
            "image_not_found",
            unknown.as_str(),
        ),
        (json!(["sha256:x"]), 400, "invalid_image_digest", "sha256:x"),
        (
            json!(["../../etc/passwd"]),
            400,
            "invalid_image_digest",
            "passwd",
        ),
        (
            json!(vec![digest.as_str(); 9]),
            413,
            "too_many_images",
            "9 images",
        ),
    ] {
        let (found, refused) = prompt(images.clone());
        assert_eq!(
            (found, refused["code"].as_str()),
            (status, Some(code)),
            "{refused}"
        );
        let message = refused["error"].as_str().unwrap();
        assert!(message.contains(words), "{refused}");
        let body = json!({ "text": "look", "images": images }).to_string();
        let ran = post(
            &world,
            &served.addr,
            "/control/run",
            "application/json",
            body.as_bytes(),
        );
        assert_eq!((ran.0, &ran.1["code"]), (status, &refused["code"]));
    }
}

#[test]
fn a_host_elsewhere_gets_the_image_over_http() {
    let (far, near) = (world(), world());
    let provider = Provider::start(Script::of([Round::text("Seen."), Round::text("Seen.")]));
    choose(&far, &provider, Protocol::Messages, true);
    let served = serve(&far);
    let file = image_file(&near, "a.png", &png(8, 6));
    let url = format!("http://{}", served.addr);
    let token = far.home().join("run/control.token").display().to_string();
    let host = ["--connect", &url, "--token-file", &token];
    let ran = near.run(&[&["run", "look", "--image", &file], &host[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sent = near.run(&[&["prompt", "look", "--image", "a.png"], &host[..]].concat());
    assert_eq!(sent.code, Some(0), "{sent:?}");
    provider.wait_for_requests(2);
    drop(served);
    let asked = provider.finish();
    assert_eq!((images_in(&asked[0]), images_in(&asked[1])), (1, 1));
    assert!(!near.home().join("state").exists());
}

#[test]
fn an_upload_survives_a_crash_and_goes_after_an_hour_unless_a_message_names_it() {
    let world = world();
    let model = hello(&world);
    let served = world.serve(&["--model", &model]);
    let (named, unnamed) = (
        upload(&world, &served, &png(8, 6)),
        upload(&world, &served, &png(6, 8)),
    );
    served.crash();
    let served = world.serve(&["--model", &model]);
    let body = json!({ "text": "look", "images": [named] }).to_string();
    let path = "/control/agents/main/prompt";
    let (status, sent) = post(
        &world,
        &served.addr,
        path,
        "application/json",
        body.as_bytes(),
    );
    assert_eq!(status, 200, "{sent}");
    let young = upload(&world, &served, &png(7, 7));
    served.crash();
    age(&file_of(&world, &named));
    age(&file_of(&world, &unnamed));
    let _served = world.serve(&["--model", &model]);
    until("the image is removed", || {
        !file_of(&world, &unnamed).exists()
    });
    assert!(file_of(&world, &named).exists(), "a message names it");
    assert!(file_of(&world, &young).exists(), "it is new");
}
