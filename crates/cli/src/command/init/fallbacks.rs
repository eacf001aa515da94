//! Proposes the other models that `init` found as fallbacks. They are written only if the operator agrees, on a terminal
//! or by a flag: a fallback sends the conversation to another provider.

use super::{ProbeMode, parse_model};
use crate::command::config::probe;
use crate::exit::Failure;
use crate::output::{Format, Output};
use crate::report::{Candidate, InitReport};
use holon_config::{Settings, edit};
use std::io::{BufRead as _, IsTerminal as _, Read as _};

/// Bytes of a reply that are read; the rest is ignored.
const REPLY_BYTES: u64 = 256;
const KEY: &str = "model.fallbacks";

/// The way to the operator's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// A flag gave it.
    Given,
    /// The operator is asked on a terminal.
    Ask,
    /// There is no terminal, so nothing is proposed.
    Absent,
}

impl Consent {
    pub(super) fn of(flag: bool, output: &Output) -> Self {
        let is_attended = output.format() == Format::Text
            && std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal();
        match (flag, is_attended) {
            (true, _) => Self::Given,
            (false, true) => Self::Ask,
            (false, false) => Self::Absent,
        }
    }
}

/// Sets the candidates after the chosen model as fallbacks, if the operator agrees. A fallback that does not answer its
/// probe is left out. Fallbacks that are set already stay, unless the operator replaces everything (`is_forced`).
pub(super) async fn propose(
    settings: &Settings,
    report: &mut InitReport,
    consent: Consent,
    mode: ProbeMode,
    is_forced: bool,
    output: &Output,
) -> Result<(), Failure> {
    let Some(chosen) = report.model.clone() else {
        return Ok(());
    };
    let home = &settings.home.value;
    let has_some = !edit::get(home, KEY)?.is_empty();
    let others = others(&report.found, &chosen);
    if others.is_empty() || (has_some && !is_forced) || !agrees(consent, &chosen, &others, output) {
        return Ok(());
    }
    let mut usable = Vec::new();
    for model in others {
        let answered = match mode {
            ProbeMode::Skip => true,
            ProbeMode::Probe => {
                let asked = probe(settings, &[parse_model(&model)?]).await?;
                let answered = asked.iter().all(|probe| probe.ok);
                report.probes.extend(asked);
                answered
            }
        };
        if answered {
            usable.push(model);
        }
    }
    if !usable.is_empty() {
        edit::set(home, KEY, &serde_json::json!(usable).to_string())?;
    }
    report.fallbacks = usable;
    Ok(())
}

/// Lists the candidates that were not tried before the chosen model, one per provider and not of its own provider.
fn others(found: &[Candidate], chosen: &str) -> Vec<String> {
    let provider = |model: &str| model.split('/').next().unwrap_or_default().to_owned();
    // A candidate before the chosen one has failed its probe. A choice that was made before may not be in the list.
    let at = found.iter().position(|one| one.model == chosen);
    let after = found.iter().skip(at.unwrap_or(0));
    let mut seen = vec![provider(chosen)];
    let mut others = Vec::new();
    for candidate in after {
        let id = provider(&candidate.model);
        if !seen.contains(&id) {
            seen.push(id);
            others.push(candidate.model.clone());
        }
    }
    others
}

fn agrees(consent: Consent, chosen: &str, others: &[String], output: &Output) -> bool {
    match consent {
        Consent::Given => true,
        Consent::Absent => false,
        Consent::Ask => {
            output.note(&format!(
                "{} could be asked when {chosen} fails; the conversation would then go to another provider.\n\
                 Set as fallbacks? [y/N]",
                others.join(", ")
            ));
            let mut reply = String::new();
            let read = std::io::stdin()
                .lock()
                .take(REPLY_BYTES)
                .read_line(&mut reply);
            let reply = reply.trim().to_ascii_lowercase();
            read.is_ok() && matches!(reply.as_str(), "y" | "yes")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_of_each_other_provider_that_did_not_fail_is_proposed() {
        let found: Vec<Candidate> = ["a/1", "b/1", "b/2", "c/x", "c/y", "d/1"]
            .iter()
            .map(|model| Candidate {
                model: (*model).to_owned(),
                from: String::new(),
            })
            .collect();
        assert_eq!(others(&found, "b/1"), ["c/x", "d/1"]);
        assert_eq!(others(&found, "d/1"), [""; 0]);
        assert_eq!(others(&found, "z/1"), ["a/1", "b/1", "c/x", "d/1"]);
    }
}
