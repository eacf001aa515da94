//! Guidance is read for the first request of each turn from roots that do not move, and the status names its sources.

use crate::house::{House, briefs, events, prompt, status};
use holon_domain::agent::AgentKind;
use holon_domain::event::Event;
use holon_domain::guidance::{
    ActivationSource, ActivationState, Guidance, InstructionContent, InstructionFile,
    InstructionKind, InstructionScope, InstructionSource, Instructions, SkillCatalog, SkillEntry,
    SkillLoadReason, SkillScope,
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

/// Guidance with one skill in the home of the agent.
fn skill() -> Guidance {
    let path = "/agents/main/skills/pdf/SKILL.md".to_owned();
    Guidance {
        skills: SkillCatalog {
            discoverable_skills: vec![SkillEntry::new(
                SkillScope::Agent,
                "pdf",
                "Fills forms.".to_owned(),
                path,
            )],
            ..SkillCatalog::default()
        },
        ..Guidance::default()
    }
}

/// Runs a turn that makes one command, which ends well or not.
async fn turn_with_command(house: &House, host: &holon_engine::Host, cmd: &str, works: bool) {
    prompt(host, "main", "go").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": cmd }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    if works {
        command.ends("text");
    } else {
        command.exits(1);
    }
    house.model.next().await.answer(says("done"));
}

#[tokio::test]
async fn a_skill_is_active_once_a_successful_command_referred_to_it() {
    let house = House::new();
    let host = house.with_main().await;
    house.guidance.set(skill());
    turn_with_command(&house, &host, "cat skills/other/SKILL.md", true).await;
    briefs(&host, "main", 1).await;
    turn_with_command(&house, &host, "cat skills/pdf/SKILL.md", false).await;
    briefs(&host, "main", 2).await;
    assert!(status(&host, "main").await.agent.active_skills.is_empty());

    turn_with_command(&house, &host, "cat skills/pdf/SKILL.md", true).await;
    briefs(&host, "main", 3).await;
    let active = status(&host, "main").await.agent.active_skills;
    assert_eq!(active.len(), 1);
    assert_eq!(active[0].skill.skill_id, "agent:pdf");
    assert_eq!(
        active[0].skill.activation_state,
        ActivationState::SessionActive
    );
    assert_eq!(active[0].activation_source, ActivationSource::AgentCommand);
    let activated: Vec<_> = events(&host, "main")
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::SkillActivated(activated) => Some(activated),
            _ => None,
        })
        .collect();
    assert_eq!(activated.len(), 1);
    assert_eq!(activated[0].load_reason, SkillLoadReason::ReadSkillMd);
    assert_eq!(activated[0].activation_state, ActivationState::TurnActive);
    assert_eq!(activated[0].path, "/agents/main/skills/pdf/SKILL.md");
    assert!(!activated[0].repeated);

    // A restart keeps it, and says where it comes from.
    house.clock.advance(1_000);
    let house = house.after_crash();
    let host = house.start().await;
    let active = status(&host, "main").await.agent.active_skills;
    assert_eq!(active.len(), 1);
    assert_eq!(active[0].activation_source, ActivationSource::Restored);
    house.guidance.set(skill());
    prompt(&host, "main", "go on").await;
    let asked = house.model.next().await;
    assert!(
        asked
            .request
            .frame
            .system_prompt
            .contains("agent:pdf [active]")
    );
    asked.answer(says("done"));
    briefs(&host, "main", 4).await;
}

#[tokio::test]
async fn a_skill_whose_files_were_changed_since_its_installation_is_told_and_not_active() {
    let house = House::new();
    let host = house.with_main().await;
    house.guidance.set(skill());
    turn_with_command(&house, &host, "cat skills/pdf/SKILL.md", true).await;
    briefs(&host, "main", 1).await;
    assert_eq!(status(&host, "main").await.agent.active_skills.len(), 1);

    house.guidance.set_change(Some("its files were changed"));
    turn_with_command(&house, &host, "cat skills/pdf/SKILL.md", true).await;
    briefs(&host, "main", 2).await;
    assert!(status(&host, "main").await.agent.active_skills.is_empty());
    let changed: Vec<_> = events(&host, "main")
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::SkillChanged(changed) => Some(changed),
            _ => None,
        })
        .collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].change, "its files were changed");
    assert_eq!(changed[0].skill_id, "agent:pdf");
}
