//! An image beside a tool result, and images behind the words of a user, in each of the four protocols.

use super::{encode, sample};
use holon_domain::image::{AttachedImage, ImageDigest, ImageFormat, SentImage, ShownImage};
use holon_domain::model::{ConversationItem, ModelRequest};
use holon_domain::provider::Transport;
use serde_json::{Value, json};

/// A request whose only call viewed an image, with words of the user behind it.
fn request() -> ModelRequest {
    let call = sample::call("call_1", json!({"file_path": "a.png"}));
    let mut result = sample::result("call_1", "a.png (image/png, 2 x 3, 4 bytes)");
    if let ConversationItem::ToolResult { image, .. } = &mut result {
        *image = Some(ShownImage {
            media_type: ImageFormat::Png,
            width: 2,
            height: 3,
            data: "AAECAw==".into(),
        });
    }
    let said = sample::assistant_turn("other/model", vec![call]);
    sample::request(
        "sample/model",
        vec![said, result, sample::user("What is on it?")],
    )
}

fn body(transport: Transport) -> Value {
    let provider = sample::provider(transport, "https://example.com/v1");
    sample::sent(&encode(&provider, &request()))
}

/// Returns the last items of a list of the body.
fn last(body: &Value, list: &str, count: usize) -> Value {
    let items = body[list].as_array().expect("a list");
    Value::from(items[items.len() - count..].to_vec())
}

#[test]
fn a_result_of_messages_holds_text_and_image() {
    let sent = last(&body(Transport::AnthropicMessages), "messages", 1);
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AAECAw=="});
    let content = json!([
        {"type": "text", "text": "a.png (image/png, 2 x 3, 4 bytes)"},
        {"type": "image", "source": source},
    ]);
    let expected = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": content},
        {"type": "text", "text": "What is on it?", "cache_control": {"type": "ephemeral"}},
    ]}]);
    assert_eq!(sent, expected);
}

#[test]
fn an_output_of_both_responses_protocols_is_a_list_with_the_image() {
    for transport in [Transport::OpenaiResponses, Transport::OpenaiCodexResponses] {
        let sent = last(&body(transport), "input", 2);
        let output = json!([
            {"type": "input_text", "text": "a.png (image/png, 2 x 3, 4 bytes)"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAECAw=="},
        ]);
        let expected =
            json!({"type": "function_call_output", "call_id": "call_1", "output": output});
        assert_eq!(sent[0], expected, "{transport:?}");
    }
}

#[test]
fn chat_completions_sends_the_image_in_a_message_of_the_user_behind_the_results() {
    let sent = last(&body(Transport::OpenaiChatCompletions), "messages", 2);
    let expected = json!([
        {"role": "tool", "tool_call_id": "call_1", "content": "a.png (image/png, 2 x 3, 4 bytes)"},
        {"role": "user", "content": [
            {"type": "text", "text": "Image of the result of ReadSensor:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAECAw=="}},
            {"type": "text", "text": "What is on it?"},
        ]},
    ]);
    assert_eq!(sent, expected);
}

/// The first image of a message, with these bytes in base64. Without them it is not read.
fn sent(data: Option<&str>) -> ConversationItem {
    let image = SentImage {
        digest: ImageDigest::of(b"x"),
        media_type: ImageFormat::Png,
        width: 2,
        height: 3,
        bytes: 4,
    };
    let shown = data.map(|data| ShownImage {
        media_type: ImageFormat::Png,
        width: 2,
        height: 3,
        data: data.into(),
    });
    ConversationItem::Image(AttachedImage {
        image,
        number: 1,
        shown,
    })
}

/// Returns the messages of a body that ends with words of the user, these images and more words.
fn said(transport: Transport, images: Vec<ConversationItem>, list: &str, count: usize) -> Value {
    let mut items = vec![sample::assistant_turn(
        "other/model",
        vec![sample::text("Show me.")],
    )];
    items.push(sample::user("Look."));
    items.extend(images);
    items.push(sample::user("Well?"));
    let provider = sample::provider(transport, "https://example.com/v1");
    let request = sample::request("sample/model", items);
    last(&sample::sent(&encode(&provider, &request)), list, count)
}

#[test]
fn images_of_a_message_stand_behind_its_words_in_messages() {
    let sent = said(
        Transport::AnthropicMessages,
        vec![sent(Some("AAE=")), sent(Some("AgM=")), sent(None)],
        "messages",
        1,
    );
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let expected = json!([{"role": "user", "content": [
        {"type": "text", "text": "Look."},
        image("AAE="),
        image("AgM="),
        {"type": "text", "text": "Well?", "cache_control": {"type": "ephemeral"}},
    ]}]);
    assert_eq!(sent, expected);
}

#[test]
fn an_image_that_messages_would_refuse_is_named_only() {
    let large = "A".repeat((5 << 20) + 4);
    let images = vec![sent(Some(&large))];
    let sent = said(Transport::AnthropicMessages, images, "messages", 1);
    let words = sent[0]["content"][1]["text"].as_str().expect("a text");
    assert!(words.starts_with("[the image is not shown: "), "{words}");
}

#[test]
fn images_of_a_message_are_parts_of_it_in_both_responses_protocols() {
    for transport in [Transport::OpenaiResponses, Transport::OpenaiCodexResponses] {
        let images = vec![sent(Some("AAE=")), sent(Some("AgM="))];
        let sent = said(transport, images, "input", 2);
        let image = |data: &str| {
            let url = format!("data:image/png;base64,{data}");
            json!({"type": "input_image", "image_url": url})
        };
        let words = |text: &str| json!({"type": "input_text", "text": text});
        let expected = json!([
            {"type": "message", "role": "user", "content": [words("Look."), image("AAE="), image("AgM=")]},
            {"type": "message", "role": "user", "content": [words("Well?")]},
        ]);
        assert_eq!(sent, expected, "{transport:?}");
    }
}

#[test]
fn images_of_a_message_stand_between_its_words_in_chat_completions() {
    let images = vec![sent(Some("AAE="))];
    let sent = said(Transport::OpenaiChatCompletions, images, "messages", 1);
    let expected = json!([{"role": "user", "content": [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}},
        {"type": "text", "text": "Well?"},
    ]}]);
    assert_eq!(sent, expected);
}
