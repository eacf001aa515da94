//! Guidance is read for the first request of each turn from roots that do not move, and the status names its sources.

use crate::house::{House, at_rest, briefs, events, prompt, status};
use crate::talk::texts;
use holon_domain::agent::AgentKind;
use holon_domain::event::Event;
use holon_domain::guidance::{
    ActivationSource, ActivationState, Guidance, InstructionContent, InstructionFile,
    InstructionKind, InstructionScope, InstructionSource, Instructions, SkillCatalog, SkillEntry,
    SkillLoadReason, SkillScope,
};
use holon_domain::model::ConversationItem;
use holon_testkit::ports::{calls, says};
use serde_json::json;

pub(crate) fn instructions(text: &str) -> Guidance {
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
    assert!(third.request.frame.system_prompt.contains("Mind the gap."));
    let shown = texts(&third.request);
    let told = shown.iter().position(|text| text.contains("Stand clear."));
    let asked = shown.iter().position(|text| text.contains("go on"));
    assert!(told.is_some() && told <= asked, "{shown:?}");
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
    let shown = texts(&asked.request).join("\n");
    assert!(shown.contains("agent:pdf [active]"), "{shown}");
    asked.answer(says("done"));
    briefs(&host, "main", 4).await;
}

#[tokio::test]
async fn a_command_that_became_a_task_makes_its_skill_active_at_its_end_also_after_a_crash() {
    let house = House::new();
    let host = house.with_main().await;
    house.guidance.set(Guidance {
        skills: SkillCatalog {
            discoverable_skills: vec![SkillEntry::new(
                SkillScope::User,
                "pdf",
                "Fills forms.".to_owned(),
                "/users/u/.agents/skills/pdf/SKILL.md".to_owned(),
            )],
            ..SkillCatalog::default()
        },
        ..Guidance::default()
    });
    prompt(&host, "main", "go").await;
    let cmd = "cd ~/.agents/skills/pdf && python scripts/fill.py";
    let round = calls(&[("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 0 }))]);
    house.model.next().await.answer(round);
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it runs"));
    briefs(&host, "main", 1).await;
    task.watched().await;
    assert!(status(&host, "main").await.agent.active_skills.is_empty());

    let house = house.after_crash();
    let host = house.start().await;
    task.ends("filled");
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    let active = status(&host, "main").await.agent.active_skills;
    assert_eq!(active.len(), 1, "{active:?}");
    assert_eq!(active[0].skill.skill_id, "user:pdf");
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

/// Guidance of a project with an instruction file and a skill.
fn project() -> Guidance {
    let mut guidance = instructions("Mind the gap.");
    guidance.instructions.files.push(InstructionFile {
        source: InstructionSource {
            scope: InstructionScope::Workspace,
            kind: InstructionKind::AgentsMd,
            path: "/p/AGENTS.md".to_owned(),
        },
        content: InstructionContent::Text("Run `make check`.".into()),
    });
    let path = "/p/.agents/skills/ship/SKILL.md".to_owned();
    let skill = SkillEntry::new(SkillScope::Workspace, "ship", "Ships it.".to_owned(), path);
    guidance.skills.discoverable_skills.push(skill);
    guidance
}

/// The results of calls in a request, oldest first.
fn results(asked: &holon_domain::model::ModelRequest) -> Vec<String> {
    let items = asked.conversation.iter();
    let results = items.filter_map(|item| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn a_turn_that_enters_a_project_is_shown_its_guidance_below_the_result_and_after_a_restart() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "work in /p").await;
    let first = house.model.next().await;
    let frame = first.request.frame.system_prompt.clone();
    house.guidance.set(project());
    let enter = |arguments| calls(&[("UseWorkspace", arguments)]);
    first.answer(enter(json!({ "path": "/p", "mode": "isolated" })));
    let second = house.model.next().await;
    assert_eq!(second.request.frame.system_prompt, frame, "it is cached");
    let [shown]: [String; 1] = results(&second.request).try_into().expect("one result");
    let (result, guidance) = shown.split_once("\n\n").expect("a text below");
    assert!(result.starts_with('{') && result.ends_with('}'), "{result}");
    assert!(!result.contains("make check"), "{result}");
    for part in [
        "Run `make check`.",
        "source: /p/AGENTS.md",
        "workspace:ship",
    ] {
        assert!(guidance.contains(part), "{part}: {guidance}");
    }
    assert!(!guidance.contains("Mind the gap."), "{guidance}");
    let reads = house.guidance.reads();
    let anchor = reads
        .last()
        .and_then(|roots| roots.workspace_anchor.clone());
    assert_eq!(anchor.as_deref(), Some("/p"));

    // The same anchor in another mode brings nothing new.
    second.answer(enter(json!({ "workspace_id": "ws--p" })));
    let third = house.model.next().await;
    let again = results(&third.request);
    assert_eq!(again[0], shown);
    assert!(!again[1].contains("make check"), "{}", again[1]);
    drop(third);

    let house = house.after_crash();
    let host = house.start().await;
    let repeated = house.model.next().await;
    assert_eq!(results(&repeated.request), again);
    repeated.answer(enter(json!({ "workspace_id": "agent_home" })));
    let home = house.model.next().await;
    let left = results(&home.request).pop().expect("a result");
    assert!(left.contains("do not count here"), "{left}");
    home.answer(says("done"));
    briefs(&host, "main", 1).await;
}
