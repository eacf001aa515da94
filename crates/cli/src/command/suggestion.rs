//! Names the agent that a misspelt name probably means.

use crate::exit::Failure;
use crate::host;
use crate::settings;
use crate::target::Target;
use holon_client::Client;
use holon_config::Flags;
use holon_domain::text::nearest;

/// Adds the nearest name of an agent of the host to the failure of a command that named none of them. A host that does not
/// answer adds nothing.
pub(super) fn add(target: &Target, failure: Failure) -> Failure {
    if !failure.is("agent_not_found") {
        return failure;
    }
    let names = super::block_on(async {
        let agents = client(target)?.agents().await?;
        let names = agents.iter().map(|agent| agent.identity.agent_id.clone());
        Ok(names.collect::<Vec<_>>())
    });
    name_nearest(failure, &names.unwrap_or_default())
}

fn client(target: &Target) -> Result<Client, Failure> {
    match target {
        Target::Remote(remote) => Ok(remote.client.clone()),
        Target::Home(home) => {
            let flags = Flags {
                home: home.clone(),
                ..Flags::default()
            };
            let (settings, _) = settings::load_client(&flags)?;
            Ok(host::client(&settings.home.value))
        }
    }
}

fn name_nearest(failure: Failure, names: &[String]) -> Failure {
    let asked = failure.body.extra.get("agent_id");
    let asked = asked.and_then(serde_json::Value::as_str);
    let Some(near) = asked.and_then(|asked| nearest(asked, names.iter().map(String::as_str)))
    else {
        return failure;
    };
    let hint = match &failure.body.hint {
        Some(hint) => format!("did you mean {near}? {hint}"),
        None => format!("did you mean {near}?"),
    };
    failure.hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_name_that_is_near_is_proposed_and_a_far_one_is_not() {
        let names = ["main".to_owned(), "scout".to_owned()];
        for (asked, hint) in [
            ("scuot", "did you mean scout? list agents"),
            ("librarian", "list agents"),
        ] {
            let mut failure = Failure::new(Exit::Failed, "agent_not_found", "there is none");
            failure
                .body
                .extra
                .insert("agent_id".to_owned(), asked.into());
            let told = name_nearest(failure.hint("list agents"), &names).body.hint;
            assert_eq!(told.as_deref(), Some(hint), "{asked}");
        }
    }
}
