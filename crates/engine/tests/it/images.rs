//! Images that an operator sends: in the requests of their turn, of later turns and after a restart, and until when they
//! are kept.

use crate::house::{House, agent, briefs, create};
use crate::talk::texts;
use async_trait::async_trait;
use holon_domain::delta::TextSink;
use holon_domain::image::{ImageDigest, SentImage};
use holon_domain::limits::UNNAMED_IMAGE_MS;
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ConversationItem, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_engine::ports::{Clock as _, ModelClient};
use holon_engine::request::Ingress;
use holon_engine::{Conduct, Error, Host};
use holon_testkit::ports::{SMALL_POLICY, ScriptedModel, calls, says};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Pause of retention between two runs.
const PAUSE_MS: u64 = 60_000;

/// A scripted model that takes images.
#[derive(Debug)]
struct Seeing(Arc<ScriptedModel>);

#[async_trait]
impl ModelClient for Seeing {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.0.call(request, text, cancel).await
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        self.0.check(model).await
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        ModelPolicy {
            image_input: true,
            ..SMALL_POLICY
        }
    }
}

async fn start(house: &House) -> Host {
    let model = Arc::new(Seeing(house.model.clone()));
    house.start_on(Conduct::default(), model).await
}

/// Uploads an image and sends it with a prompt.
async fn send(host: &Host, text: &str, image: &str, priority: Priority) -> SentImage {
    let kept = host.control().keep_image(image.into()).await.expect("kept");
    let named = [kept.digest.to_string()];
    let images = host.control().claim_images(&named).await.expect("claimed");
    let ingress = Ingress {
        images,
        ..Ingress::operator_prompt(
            text.to_owned(),
            priority,
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated,
        )
    };
    let admitted = host.control().admit(&agent("main"), ingress).await;
    admitted.expect("admitted");
    kept
}

/// Waits until so many images are left.
async fn left(house: &House, count: usize) {
    while house.files.images.digests().len() > count {
        tokio::task::yield_now().await;
    }
}

/// The images of items, each with whether the request holds its bytes.
fn images<'a>(items: impl IntoIterator<Item = &'a ConversationItem>) -> Vec<(ImageDigest, bool)> {
    let image = |item: &ConversationItem| match item {
        ConversationItem::Image(one) => Some((one.image.digest.clone(), one.shown.is_some())),
        ConversationItem::Assistant { .. }
        | ConversationItem::ToolResult { .. }
        | ConversationItem::User { .. } => None,
    };
    items.into_iter().filter_map(image).collect()
}

#[tokio::test]
async fn an_image_stands_behind_its_message_in_its_turn_and_in_the_thread() {
    let house = House::new();
    let host = start(&house).await;
    create(&host, "main").await;
    let first = send(&host, "what is it?", "one", Priority::Normal).await;
    let asked = house.model.next().await;
    assert_eq!(
        images(&asked.request.conversation),
        [(first.digest.clone(), true)]
    );
    let second = send(&host, "and this?", "two", Priority::Interject).await;
    asked.answer(calls(&[("AgentGet", json!({}))]));
    let asked = house.model.next().await;
    let items = &asked.request.conversation;
    let both = [(first.digest.clone(), true), (second.digest.clone(), true)];
    assert_eq!(images(items), both);
    let [
        ..,
        ConversationItem::User { text },
        ConversationItem::Image(_),
    ] = items.as_slice()
    else {
        panic!("{items:?}");
    };
    assert!(text.contains("and this?\n[image 1: sha256:"), "{text}");
    let shown = texts(&asked.request);
    asked.answer(says("two things"));
    // One outcome settles both messages.
    briefs(&host, "main", 1).await;

    crate::house::prompt(&host, "main", "thanks").await;
    let asked = house.model.next().await;
    let earlier = asked.request.thread.iter().flat_map(|turn| &turn.items);
    assert_eq!(images(earlier), both);
    assert_eq!(texts(&asked.request)[..shown.len()], shown, "as it was");
    assert!(images(&asked.request.conversation).is_empty());
    // The same after a crash, which loses what was kept in memory.
    drop(host);
    let again = house.after_crash();
    for image in ["one", "two"] {
        again.files.images.keep(image.as_bytes());
    }
    let _host = start(&again).await;
    let asked = again.model.next().await;
    let earlier = asked.request.thread.iter().flat_map(|turn| &turn.items);
    assert_eq!(images(earlier), both);
    asked.answer(says("you are welcome"));
}

#[tokio::test]
async fn a_text_stands_in_place_of_an_image_that_cannot_be_shown() {
    let house = House::new();
    let host = start(&house).await;
    create(&host, "main").await;
    let image = send(&host, "what is it?", "one", Priority::Normal).await;
    let asked = house.model.next().await;
    house.files.images.lose(&image.digest);
    asked.answer(calls(&[("AgentGet", json!({}))]));
    let asked = house.model.next().await;
    let note = "[image 1 is not shown: the image is gone]";
    assert!(texts(&asked.request).iter().any(|text| text.contains(note)));
    assert!(images(&asked.request.conversation).is_empty());
    asked.answer(says("I do not know"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn an_image_that_no_message_names_is_removed_after_an_hour() {
    let house = House::new();
    house.files.images.set_time(house.clock.now());
    let host = start(&house).await;
    create(&host, "main").await;
    let unnamed = host.control().keep_image(b"other".to_vec()).await;
    let unnamed = unnamed.expect("kept").digest;
    let named = send(&host, "what is it?", "one", Priority::Normal)
        .await
        .digest;
    house.model.next().await.answer(says("a square"));
    briefs(&host, "main", 1).await;
    house.clock.slept_towards(PAUSE_MS).await;
    house.clock.advance(UNNAMED_IMAGE_MS);
    house.clock.slept_towards(PAUSE_MS).await;
    assert_eq!(house.files.images.digests().len(), 2, "not yet");
    house.clock.advance(PAUSE_MS);
    left(&house, 1).await;
    assert_eq!(house.files.images.digests(), [named]);
    let gone = host.control().claim_images(&[unnamed.to_string()]).await;
    assert!(matches!(gone, Err(Error::Image(_))), "{gone:?}");

    // With its agent the message goes, and with the message the image.
    let deleted = host.control().remove_agent(&agent("main")).await;
    deleted.expect("deleted");
    house.is_gone(&agent("main")).await;
    house.clock.slept_towards(PAUSE_MS).await;
    house.clock.advance(PAUSE_MS);
    left(&house, 0).await;
}
