//! The fixed part of a request: policy and tools, which every request of every agent repeats.

use crate::house::{House, prompt};
use holon_domain::agent::ProfilePreset;
use holon_domain::text::estimate_tokens;
use holon_domain::web::WebTools;
use holon_testkit::ports::says;

/// Most estimated tokens of policy and tools together. They are sent with every request and fill a part of every
/// window, so that a new rule or tool has to earn its place: say it once, where it is used, in few words.
const MOST_TOKENS: usize = 4_440;

#[tokio::test]
async fn policy_and_tools_stay_short_for_every_profile() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let asked = house.model.next().await;
    let policy = asked.request.frame.system_blocks.first().expect("a policy");
    let policy = estimate_tokens(&policy.text);
    asked.answer(says("hello"));
    for preset in [ProfilePreset::PublicNamed, ProfilePreset::PrivateChild] {
        for freeform in [false, true] {
            let tools = holon_tools::offered(preset, freeform, WebTools::ALL);
            let total = policy + tools.estimated_tokens();
            let largest = tools.iter().map(|tool| {
                let schema = tool.parameters.to_string();
                let tokens = estimate_tokens(&tool.description) + estimate_tokens(&schema);
                format!("{} {tokens}", tool.name)
            });
            assert!(
                total <= MOST_TOKENS,
                "{preset:?}: {total} tokens, {policy} of them the policy; {}",
                largest.collect::<Vec<_>>().join(", ")
            );
        }
    }
}
