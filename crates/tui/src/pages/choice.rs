//! Models, reasoning efforts and skills.

use super::{Facts, nothing};
use crate::overlay::{Entry, Tone};
use holon_api::SkillsResponse;
use holon_client::Answer;
use holon_client::view::{Agent, Models};

/// Reasoning efforts that a model may be given. The first leaves the choice to the setting of the provider.
const EFFORTS: [&str; 5] = ["inherit", "low", "medium", "high", "xhigh"];

/// Returns true if the agent has no model of its own.
pub(crate) fn follows_default(agent: &Agent) -> bool {
    agent.model.source == "runtime_default"
}

/// Lists models, available ones first. The entry without an id removes the choice of the agent. A model in use that the
/// host does not list stands below it.
pub(crate) fn models(models: &Models, agent: Option<&Answer<Agent>>) -> Vec<Entry> {
    let current = agent.and_then(|agent| agent.model.effective_model.as_deref());
    let default = agent.and_then(|agent| agent.model.runtime_default_model.as_deref());
    let follows = agent.is_some_and(|agent| follows_default(agent));
    let mut entries = vec![Entry {
        id: String::new(),
        label: marked(
            follows,
            &format!("default of the host ({})", default.unwrap_or("none")),
        ),
        tone: if follows { Tone::Good } else { Tone::Plain },
        detail: if follows {
            "The agent follows the default model of the host.".to_owned()
        } else {
            "Enter lets the agent follow the default model of the host.".to_owned()
        },
        ..Entry::default()
    }];
    let is_listed = |name: &str| {
        models
            .model_availability
            .iter()
            .any(|model| model.model == name)
    };
    entries.extend(current.filter(|name| !is_listed(name)).map(|name| Entry {
        id: name.to_owned(),
        label: marked(true, name),
        tone: Tone::Good,
        detail: "The agent uses this model; the host does not list it.".to_owned(),
        ..Entry::default()
    }));
    let mut sorted: Vec<_> = models.model_availability.iter().collect();
    sorted.sort_by_key(|model| !model.available);
    entries.extend(sorted.into_iter().map(|model| {
        let is_current = current == Some(model.model.as_str());
        let mut facts = Facts::default();
        facts.add("model", &model.model);
        facts.add("available", if model.available { "yes" } else { "no" });
        facts.add_some("because", model.unavailable_reason.as_deref());
        Entry {
            id: model.model.clone(),
            label: marked(is_current, &model.model),
            tone: match (is_current, model.available) {
                (true, _) => Tone::Good,
                (false, true) => Tone::Plain,
                (false, false) => Tone::Faint,
            },
            detail: facts.text(),
            ..Entry::default()
        }
    }));
    entries
}

/// Marks what the agent uses, by a sign and in words.
fn marked(is_used: bool, name: &str) -> String {
    if is_used {
        format!("▸ {name}  in use")
    } else {
        format!("  {name}")
    }
}

pub(crate) fn efforts() -> Vec<Entry> {
    EFFORTS
        .iter()
        .map(|effort| Entry {
            id: (*effort).to_owned(),
            label: (*effort).to_owned(),
            detail: match *effort {
                "inherit" => "The setting of the provider decides.".to_owned(),
                effort => format!("The model thinks with {effort} effort, if it can."),
            },
            ..Entry::default()
        })
        .collect()
}

/// Lists the skills that an agent can use.
pub(crate) fn skills(listed: &SkillsResponse) -> Vec<Entry> {
    let entries: Vec<Entry> = listed
        .catalog
        .discoverable_skills
        .iter()
        .map(|skill| {
            let installed = listed.skills.iter().find(|one| one.name == skill.name);
            let warning = installed.and_then(|one| one.warning.as_deref());
            let mut facts = Facts::default();
            facts.add("skill", &skill.skill_id);
            facts.add("file", &skill.path);
            facts.add("about", &skill.description);
            facts.add_some("warning", warning);
            Entry {
                id: installed.map_or_else(|| skill.skill_id.clone(), |one| one.name.clone()),
                label: format!("{}  {}", skill.skill_id, skill.description),
                tone: if warning.is_some() {
                    Tone::Bad
                } else {
                    Tone::Plain
                },
                detail: facts.text(),
                ..Entry::default()
            }
        })
        .collect();
    if entries.is_empty() {
        return nothing("no skills; i installs one");
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::agent_json;
    use serde_json::json;

    fn labels(source: &str) -> Vec<String> {
        let mut agent = agent_json("idle", "rests");
        agent["model"]["effective_model"] = json!("a/ok");
        agent["model"]["source"] = json!(source);
        let agent = Answer::new(agent).unwrap();
        let listed: Answer<Models> = Answer::new(json!({"model_availability": [
            {"model": "a/ok", "available": true}, {"model": "b/other", "available": true},
        ]}))
        .unwrap();
        let entries = models(&listed, Some(&agent)).into_iter();
        entries.map(|entry| entry.label).collect()
    }

    #[test]
    fn the_model_in_use_is_marked_and_the_default_if_it_is_followed() {
        assert_eq!(
            labels("runtime_default"),
            [
                "▸ default of the host (none)  in use",
                "▸ a/ok  in use",
                "  b/other"
            ]
        );
        assert_eq!(
            labels("agent_override"),
            [
                "  default of the host (none)",
                "▸ a/ok  in use",
                "  b/other"
            ]
        );
    }
}
