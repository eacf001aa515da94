//! `holon token`: makes, lists and revokes named tokens.

use crate::addressing::hint;
use crate::args::TokenCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::{CreateTokenRequest, TokenView};

/// Runs one subcommand of `token`.
pub(super) async fn run(
    target: Target,
    command: TokenCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, None, output)?;
    match command {
        TokenCommand::Create { name, scope } => {
            let request = CreateTokenRequest {
                name,
                scope: scope.into(),
            };
            let made = host.check_answer(host.client().create_token(&request).await)?;
            output.answer(&made, |made| made.token.clone());
            output.aside("keep it: the host stores its hash only and cannot show it again");
        }
        TokenCommand::List => {
            let all = host.check_answer(host.client().tokens().await)?;
            output.answer(&all, |all| render(&all.tokens));
        }
        TokenCommand::Revoke { name } => {
            let gone = host.check_answer(host.client().revoke_token(&name).await)?;
            output.answer(&gone, |gone| format!("token {} is revoked", gone.name));
        }
    }
    Ok(Exit::Done)
}

fn render(tokens: &[TokenView]) -> String {
    if tokens.is_empty() {
        return hint("no named tokens; make one with: holon token create NAME --scope read");
    }
    let line = |token: &TokenView| {
        format!(
            "{}  {}  since {}",
            token.name,
            token.scope.as_str(),
            token.created_at
        )
    };
    tokens.iter().map(line).collect::<Vec<_>>().join("\n")
}
