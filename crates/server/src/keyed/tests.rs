//! A caller that disconnects while its request takes effect.

use super::*;
use axum::Json;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use holon_testkit::engine::TestEngine;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

fn route(engine: &TestEngine) -> KeyedRoute {
    KeyedRoute {
        control: engine.control(),
        served: Arc::default(),
        keep: Keep::Response,
        tasks: TaskTracker::new(),
        cut_off: CancellationToken::new(),
    }
}

/// A route with an effect, which waits for the test between the effect and its answer.
#[derive(Default)]
struct Slow {
    effects: AtomicU32,
    happened: Notify,
    go_on: Notify,
}

impl Slow {
    async fn act(self: Arc<Self>) -> Json<serde_json::Value> {
        let count = self.effects.fetch_add(1, Ordering::SeqCst) + 1;
        self.happened.notify_one();
        self.go_on.notified().await;
        Json(json!({ "effect": count }))
    }
}

fn request() -> Request {
    let request = Request::post("/slow").header(IDEMPOTENCY_KEY_HEADER, "k");
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn an_answer_is_kept_although_its_caller_left_before_it() {
    let engine = TestEngine::start().await;
    let slow = Arc::new(Slow::default());
    let acting = Arc::clone(&slow);
    let router = Router::new()
        .route("/slow", post(move || Arc::clone(&acting).act()))
        .layer(from_fn_with_state(route(&engine), serve_once));
    let service = TowerToHyperService::new(router);
    let first = tokio::spawn(service.call(request()));
    slow.happened.notified().await;
    first.abort();
    assert!(first.await.is_err_and(|left| left.is_cancelled()));
    slow.go_on.notify_one();
    let again = service.call(request()).await.unwrap();
    assert_eq!(again.status(), StatusCode::OK);
    let body = to_bytes(again.into_body(), 100).await.unwrap();
    assert_eq!(body, r#"{"effect":1}"#);
    assert_eq!(slow.effects.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_request_without_a_caller_ends_with_the_drain() {
    let engine = TestEngine::start().await;
    let (slow, route) = (Arc::new(Slow::default()), route(&engine));
    let acting = Arc::clone(&slow);
    let router = Router::new()
        .route("/slow", post(move || Arc::clone(&acting).act()))
        .layer(from_fn_with_state(route.clone(), serve_once));
    let first = tokio::spawn(TowerToHyperService::new(router).call(request()));
    slow.happened.notified().await;
    first.abort();
    assert!(first.await.is_err_and(|left| left.is_cancelled()));
    route.tasks.close();
    assert_eq!(route.tasks.len(), 1, "it is still served");
    route.cut_off.cancel();
    route.tasks.wait().await;
}
