//! Guidance is read for the first request of each turn from roots that do not move, and the status names its sources.

use crate::house::{House, briefs, prompt, status};
use holon_domain::agent::AgentKind;
use holon_domain::guidance::{
    Guidance, InstructionContent, InstructionFile, InstructionKind, InstructionScope,
    InstructionSource, Instructions,
};
use holon_testkit::ports::{calls, says};
use serde_json::json;

fn instructions(text: &str) -> Guidance {
    Guidance {
        instructions: Instructions {
            files: vec![InstructionFile {
                source: InstructionSource {
                    scope: InstructionScope::Agent,
                    kind: InstructionKind::AgentsMd,
                    path: "/agents/main/AGENTS.md".to_owned(),
                },
                content: InstructionContent::Text(text.into()),
            }],
        },
        ..Guidance::default()
    }
}

#[tokio::test]
async fn a_turn_shows_what_its_first_request_showed_and_the_next_turn_what_is_there_then() {
    let house = House::new();
    let host = house.with_main().await;
    house.guidance.set(instructions("Mind the gap."));
    prompt(&host, "main", "go").await;
    let first = house.model.next().await;
    assert!(first.request.frame.system_prompt.contains("Mind the gap."));
    house.guidance.set(instructions("Stand clear."));
    first.answer(calls(&[("AgentGet", json!({}))]));
    let second = house.model.next().await;
    assert!(second.request.frame.system_prompt.contains("Mind the gap."));
    second.answer(says("gone"));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "go on").await;
    let third = house.model.next().await;
    let shown = &third.request.frame.system_prompt;
    assert!(shown.contains("Stand clear.") && !shown.contains("Mind the gap."));
    third.answer(says("gone on"));
    briefs(&host, "main", 2).await;
}

#[tokio::test]
async fn roots_follow_the_home_and_the_status_names_sources_without_content() {
    let house = House::new();
    let host = house.with_main().await;
    house.guidance.set(instructions("Mind the gap."));
    let loaded = status(&host, "main").await.loaded_agents_md;
    let source = loaded.agent_source.clone().expect("a source");
    assert_eq!(source.path, "/agents/main/AGENTS.md");
    let said = serde_json::to_string(&loaded).expect("JSON");
    assert!(!said.contains("Mind the gap."), "{said}");
    let reads = house.guidance.reads();
    let roots = reads.last().expect("a read");
    assert_eq!(roots.kind, AgentKind::Default);
    assert_eq!(roots.agent_home, "/agents/main");
    assert_eq!(roots.workspace_anchor, None, "the home is no workspace");
}
