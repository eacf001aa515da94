//! Completions of a draft: commands by their names, arguments by what the host lists.

use super::ask;
use crate::draft::Draft;
use crate::model::{Model, Purpose};
use crate::msg::{Command, Reply};
use crate::slash::{Argument, Usage, candidates, unfinished};

/// Most choices of one kind that are kept.
const KEPT: usize = 200;

/// Something that the draft may become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Whole draft after the offer was taken.
    pub(crate) draft: String,
    pub(crate) label: String,
    pub(crate) about: String,
    /// True if the draft can be run as it is then.
    pub(crate) is_whole: bool,
    /// True if the enter key takes it also before it was chosen.
    takes_enter: bool,
}

/// What an argument may be, with a word about it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    id: String,
    about: String,
}

/// Choices that the host has listed, by the kind of the argument.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    lists: Vec<(Argument, Vec<Choice>)>,
    /// Argument whose choices were asked for in this draft.
    asked: Option<Argument>,
}

impl Known {
    /// Forgets what belongs to one agent.
    pub(crate) fn leave_agent(&mut self) {
        let is_kept = |kind: Argument| matches!(kind, Argument::Agent | Argument::Model);
        self.lists.retain(|(kind, _)| is_kept(*kind));
        self.asked = None;
    }

    fn of(&self, argument: Argument) -> &[Choice] {
        let found = self.lists.iter().find(|(kind, _)| *kind == argument);
        found.map_or(&[], |(_, choices)| choices)
    }

    /// Takes the choices of a list that was read, for completion or for a page.
    pub(crate) fn learn(&mut self, reply: &Reply) {
        let Some((argument, mut choices)) = choices_of(reply) else {
            return;
        };
        choices.truncate(KEPT);
        self.lists.retain(|(kind, _)| *kind != argument);
        self.lists.push((argument, choices));
    }
}

fn choices_of(reply: &Reply) -> Option<(Argument, Vec<Choice>)> {
    fn choice(id: &str, about: &str) -> Choice {
        Choice {
            id: id.to_owned(),
            about: about.to_owned(),
        }
    }
    Some(match reply {
        Reply::Agents(list) => {
            let choices = list.iter();
            let choices =
                choices.map(|one| choice(&one.identity.agent_id, &one.scheduling_posture.reason));
            (Argument::Agent, choices.collect())
        }
        Reply::Tasks(list) => {
            let choices = list.iter().map(|one| {
                let what = one.summary.as_deref().unwrap_or_default();
                choice(&one.id, &format!("{}: {what}", one.status))
            });
            (Argument::Task, choices.collect())
        }
        Reply::WorkItems(list) => {
            let choices = list.iter();
            let choices = choices.map(|one| choice(one.id.as_str(), &one.objective));
            (Argument::WorkItem, choices.collect())
        }
        Reply::Models(models) => {
            let usable = models.model_availability.iter().filter(|one| one.available);
            (
                Argument::Model,
                usable.map(|one| choice(&one.model, "")).collect(),
            )
        }
        Reply::Skills(listed) => {
            let choices = listed.skills.iter();
            (
                Argument::Skill,
                choices.map(|one| choice(&one.name, "")).collect(),
            )
        }
        Reply::Status(agent) => {
            let attached = agent.execution.attached_workspaces.iter();
            let choices = attached.map(|(id, path)| choice(id, path));
            (Argument::Workspace, choices.collect())
        }
        _ => return None,
    })
}

/// Returns the completions that are offered for the draft.
pub(crate) fn menu(model: &Model) -> Vec<Offer> {
    if model.menu.closed || !model.overlays.is_empty() {
        return Vec::new();
    }
    let draft = model.draft.text();
    match unfinished(draft) {
        Some(unfinished) => {
            let word = unfinished.word.to_lowercase();
            let fixed = unfinished.argument.words().iter().map(|word| (*word, ""));
            let listed = model.known.of(unfinished.argument).iter();
            let listed = listed.map(|one| (one.id.as_str(), one.about.as_str()));
            let is_last = unfinished.argument.is_last();
            let offer = |(id, about): (&str, &str)| Offer {
                draft: format!("{}{id}{}", unfinished.head, if is_last { "" } else { " " }),
                label: id.to_owned(),
                about: about.to_owned(),
                is_whole: is_last,
                takes_enter: false,
            };
            let fits = |(id, _): &(&str, &str)| id.to_lowercase().contains(&word);
            let offers: Vec<Offer> = fixed.chain(listed).filter(fits).map(offer).collect();
            // What is written out needs no offer.
            let is_written =
                offers.len() == 1 && offers.iter().all(|one| one.label == unfinished.word);
            if is_written { Vec::new() } else { offers }
        }
        None => candidates(draft).into_iter().map(command).collect(),
    }
}

fn command(usage: &Usage) -> Offer {
    let space = if usage.args.is_empty() { "" } else { " " };
    Offer {
        draft: format!("/{}{space}", usage.name),
        label: format!("/{} {}", usage.name, usage.args),
        about: usage.about.to_owned(),
        is_whole: usage.args.is_empty() || usage.args.starts_with('['),
        takes_enter: true,
    }
}

fn chosen(model: &Model) -> Option<Offer> {
    let mut offers = menu(model);
    let last = offers.len().checked_sub(1)?;
    Some(offers.swap_remove(model.menu.choice.min(last)))
}

/// Puts the chosen offer in the place of the draft.
pub(super) fn take(model: &mut Model) {
    if let Some(offer) = chosen(model) {
        model.draft = Draft::of(&offer.draft);
        model.menu.choice = 0;
        model.menu.moved = false;
    }
}

/// Takes the chosen offer for the enter key. Returns true if the draft can be run.
pub(super) fn take_for_enter(model: &mut Model) -> bool {
    let Some(offer) = chosen(model) else {
        return true;
    };
    if !offer.takes_enter && !model.menu.moved {
        return true;
    }
    // A command that was written out is run, whatever it may take.
    let is_whole = offer.is_whole || model.draft.text() == offer.draft.trim_end();
    take(model);
    is_whole
}

/// Asks for the choices of the argument that is being written, once in a draft.
pub(super) fn ask_choices(model: &mut Model) -> Vec<Command> {
    let argument = match unfinished(model.draft.text()) {
        Some(unfinished) if model.overlays.is_empty() => unfinished.argument,
        Some(_) | None => {
            model.known.asked = None;
            return Vec::new();
        }
    };
    if model.known.asked.replace(argument) == Some(argument) {
        return Vec::new();
    }
    let question = argument.question();
    let command = question.map(|question| ask(model, Purpose::Choices, question));
    command.into_iter().collect()
}
