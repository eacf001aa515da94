//! `holon skills`: lists, installs and removes an agent's skills through the running host.

use crate::addressing::hint;
use crate::args::SkillsCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::{InstallSkillRequest, SkillsResponse, UninstallSkillRequest};
use holon_domain::guidance::{InstallMode, SkillSource};
use holon_domain::remote::RemoteSkill;
use std::path::Path;

/// Runs a subcommand against the agent that it names, or the default one.
pub(super) async fn run(
    target: Target,
    command: SkillsCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        SkillsCommand::List(agent) => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let listed = host.check_answer(host.client().skills(&agent_id).await)?;
            output.answer(&listed, listing);
        }
        SkillsCommand::Install {
            name_or_path,
            builtin,
            remote,
            skill,
            copy,
            agent,
        } => {
            let kind = if remote {
                remote_source(name_or_path, skill)?
            } else {
                source(&target, name_or_path, builtin, copy)?
            };
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let request = InstallSkillRequest { kind };
            let answer = host.client().install_skill(&agent_id, &request).await;
            let changed = host.check_answer(answer)?;
            output.answer(&changed, |changed| {
                format!(
                    "skill {} is installed in {}",
                    changed.skill_name, changed.agent_id
                )
            });
        }
        SkillsCommand::Uninstall { name, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let request = UninstallSkillRequest { name };
            let answer = host.client().uninstall_skill(&agent_id, &request).await;
            let changed = host.check_answer(answer)?;
            output.answer(&changed, |changed| {
                format!(
                    "skill {} is removed from {}",
                    changed.skill_name, changed.agent_id
                )
            });
        }
    }
    Ok(Exit::Done)
}

/// Checks the place on GitHub before any host is asked.
fn remote_source(package: String, skill: Option<String>) -> Result<SkillSource, Failure> {
    RemoteSkill::parse(&package, skill.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(SkillSource::Remote { package, skill })
}

fn source(
    target: &Target,
    name_or_path: String,
    builtin: bool,
    copy: bool,
) -> Result<SkillSource, Failure> {
    if builtin {
        return Ok(SkillSource::Builtin { name: name_or_path });
    }
    let path = target.absolute("NAME_OR_PATH", Path::new(&name_or_path))?;
    let mode = if copy {
        InstallMode::Copied
    } else {
        InstallMode::Linked
    };
    Ok(SkillSource::Local { path, mode })
}

fn listing(listed: &SkillsResponse) -> String {
    let skills = listed.catalog.discoverable_skills.iter();
    let mut lines: Vec<String> = skills
        .map(|skill| {
            format!(
                "{}  {}\n    {}",
                skill.skill_id, skill.path, skill.description
            )
        })
        .collect();
    let pins = listed.skills.iter().filter_map(|skill| {
        let from = skill.fetched_from.as_ref()?;
        Some(format!(
            "fetched  {}: {} {} at {}",
            skill.name, from.repository, from.directory, from.commit
        ))
    });
    lines.extend(pins);
    let warnings = listed.skills.iter().filter_map(|skill| {
        let warning = skill.warning.as_ref()?;
        Some(format!("warning  {}: {warning}", skill.name))
    });
    lines.extend(warnings);
    let notes = listed.catalog.notes.iter();
    lines.extend(notes.map(|note| format!("not listed  {}: {}", note.path, note.note)));
    if lines.is_empty() {
        return hint("no skills; install one with: holon skills install DIR");
    }
    lines.join("\n")
}
