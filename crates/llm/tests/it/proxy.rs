//! A proxy from the environment is used for other hosts and never for this one.
//!
//! The environment of a running process cannot be changed safely, so the test starts itself again with another
//! environment.

use crate::support::text_of;
use crate::wire::{ask, patient, router, spec};
use holon_testkit::provider::{Protocol, Provider, Round, Script};

const INSIDE: &str = "HOLON_TEST_HAS_PROXY";

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a proxy is taken from the environment, so the test needs one of its own"
)]
async fn a_proxy_is_used_for_other_hosts_and_never_for_this_one() {
    if std::env::var_os(INSIDE).is_some() {
        return inside().await;
    }
    let proxy = Provider::start(Script::of([Round::text("by proxy")]));
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    for name in ["HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "REQUEST_METHOD"] {
        again.env_remove(name).env_remove(name.to_lowercase());
    }
    let done = again
        .args([
            "--exact",
            "proxy::a_proxy_is_used_for_other_hosts_and_never_for_this_one",
        ])
        .env("HTTP_PROXY", proxy.base_url())
        .env("http_proxy", proxy.base_url())
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    let asked = proxy.finish();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "http://provider.invalid/v1/chat/completions");
}

async fn inside() {
    let local = Provider::start(Script::of([Round::text("direct")]));
    let here = router(spec(Protocol::Chat, &local.base_url()), patient());
    assert_eq!(text_of(&ask(&here).await.unwrap()), "direct");
    local.finish();
    let there = router(
        spec(Protocol::Chat, "http://provider.invalid/v1"),
        patient(),
    );
    assert_eq!(text_of(&ask(&there).await.unwrap()), "by proxy");
}
