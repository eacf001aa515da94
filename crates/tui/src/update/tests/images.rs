//! Images that go with the next message.

use super::*;
use holon_domain::image::{ImageDigest, ImageFormat, SentImage};

fn image(name: &str) -> SentImage {
    SentImage {
        digest: ImageDigest::of(name.as_bytes()),
        media_type: ImageFormat::Png,
        width: 8,
        height: 6,
        bytes: 4,
    }
}

fn upload(path: &str) -> Question {
    Question::UploadImage {
        path: path.to_owned(),
    }
}

/// Names a file, and lets its upload end like this.
fn attach(model: &mut Model, path: &str, reply: Result<Reply, Problem>) {
    let asked = enter(model, &format!("/image {path}"));
    let ticket = ticket_of(&asked, &upload(path));
    update(model, Msg::Reply { ticket, reply });
}

fn kept(name: &str) -> Result<Reply, Problem> {
    Ok(Reply::ImageKept(image(name)))
}

fn sent(commands: &[Command]) -> Vec<SentImage> {
    let images = questions(commands).into_iter().find_map(|one| match one {
        Question::Send { images, .. } => Some(images.clone()),
        _ => None,
    });
    images.expect("a message")
}

#[test]
fn an_uploaded_image_goes_with_the_next_message_only() {
    let mut model = with_history(80, 24, Vec::new());
    attach(&mut model, "a b.png", kept("one"));
    let shown = screen(&model);
    assert!(
        shown.contains("image 1 goes with your next message"),
        "{shown}"
    );
    attach(&mut model, "c.png", kept("two"));
    let first = enter(&mut model, "look");
    assert_eq!(sent(&first), [image("one"), image("two")]);
    assert!(sent(&enter(&mut model, "and now")).is_empty());
}

#[test]
fn a_message_waits_for_an_image_on_its_way_and_a_refused_file_is_told() {
    let mut model = with_history(80, 24, Vec::new());
    let asked = enter(&mut model, "/image a.txt");
    assert!(questions(&enter(&mut model, "look")).is_empty());
    let shown = screen(&model);
    assert!(shown.contains("still on its way"), "{shown}");
    assert!(!model.draft.is_empty(), "the text stays");
    let refused = Problem {
        message: "a.txt is no image".to_owned(),
        cause: Cause::Refused,
    };
    let ticket = ticket_of(&asked, &upload("a.txt"));
    let reply = Err(refused);
    update(&mut model, Msg::Reply { ticket, reply });
    assert!(screen(&model).contains("a.txt is no image"));
    assert!(sent(&press(&mut model, KeyCode::Enter)).is_empty());
}

#[test]
fn images_are_dropped_on_request_and_given_back_with_a_refused_message() {
    let mut model = with_history(80, 24, Vec::new());
    attach(&mut model, "a.png", kept("one"));
    enter(&mut model, "/image none");
    assert!(model.images.is_empty());
    attach(&mut model, "a.png", kept("one"));
    let asked = enter(&mut model, "look");
    let question = questions(&asked)[0].clone();
    let ticket = ticket_of(&asked, &question);
    let problem = Problem {
        message: "the host has no image".to_owned(),
        cause: Cause::Refused,
    };
    let reply = Err(problem);
    update(&mut model, Msg::Reply { ticket, reply });
    assert_eq!(model.images, [image("one")]);
    press(&mut model, KeyCode::Esc);
    for number in 2..=8 {
        attach(&mut model, "b.png", kept(&number.to_string()));
    }
    assert!(questions(&enter(&mut model, "/image c.png")).is_empty());
    assert!(screen(&model).contains("a message may have 8 images"));
}
