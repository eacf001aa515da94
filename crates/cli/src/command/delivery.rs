//! `holon delivery` and `holon binding`: the ways in which agents reach their operators, and remote operators them.

use crate::addressing::hint;
use crate::args::{AddBindingArgs, AddTargetArgs, AuthWord, BindingCommand, DeliveryCommand};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::secret::{self, SecretSource};
use crate::target::Target;
use holon_api::{
    CreateDeliveryTargetRequest, DeliveryAuthRequest, OperatorTransportBindingRequest,
    TargetKindName,
};
use holon_domain::AgentId;
use holon_domain::operator_transport::TransportCapabilities;
use secrecy::ExposeSecret as _;

/// Runs one subcommand of `delivery`.
pub(super) async fn run(
    target: Target,
    command: DeliveryCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    if let DeliveryCommand::Retry {
        name,
        agent: Some(agent),
    } = command
    {
        let host = Host::find(target, Some(agent), output)?;
        let agent_id = host.agent_id().await?;
        let retried = host.client().retry_binding(&agent_id, &name).await;
        let retried = host.check_answer(retried)?;
        output.answer(&retried, |retried| {
            render::delivery::retry(retried, "binding")
        });
        return Ok(Exit::Done);
    }
    let host = Host::find(target, None, output)?;
    match command {
        DeliveryCommand::Add(args) => {
            let request = target_request(args, output)?;
            let added = host.client().add_delivery_target(&request).await;
            let added = host.check_answer(added)?;
            output.answer(&added, |added| {
                hint(format!(
                    "target {name} is added; try it with: holon delivery test {name}",
                    name = added.target.name
                ))
            });
        }
        DeliveryCommand::List => {
            let all = host.check_answer(host.client().delivery_targets().await)?;
            output.answer(&all, |all| render::delivery::targets(&all.targets));
        }
        DeliveryCommand::Test { name } => {
            let tried = host.check_answer(host.client().test_delivery_target(&name).await)?;
            output.answer(&tried, render::delivery::trial);
            return Ok(if tried.ok { Exit::Done } else { Exit::Failed });
        }
        DeliveryCommand::Remove { name } => {
            let gone = host.client().remove_delivery_target(&name).await;
            let gone = host.check_answer(gone)?;
            output.answer(&gone, render::delivery::removal);
        }
        DeliveryCommand::Retry { name, .. } => {
            let retried = host.client().retry_delivery_target(&name).await;
            let retried = host.check_answer(retried)?;
            output.answer(&retried, |retried| {
                render::delivery::retry(retried, "delivery")
            });
        }
    }
    Ok(Exit::Done)
}

fn target_request(
    args: AddTargetArgs,
    output: &Output,
) -> Result<CreateDeliveryTargetRequest, Failure> {
    let (kind, url, program) = match (args.http, args.ntfy, args.command) {
        (Some(url), _, _) => (TargetKindName::Http, Some(url), None),
        (None, Some(url), _) => (TargetKindName::Ntfy, Some(url), None),
        (None, None, Some(program)) => (TargetKindName::Command, None, Some(program)),
        (None, None, None) => {
            return Err(Failure::usage("say where deliveries go")
                .hint("give one of --http URL, --ntfy URL and --command PROGRAM"));
        }
    };
    let secret = read_secret(args.auth, args.secret_stdin, &args.name, output)?;
    Ok(CreateDeliveryTargetRequest {
        name: args.name,
        kind,
        url,
        command: program.into_iter().chain(args.arguments).collect(),
        auth: Some(args.auth.into()),
        secret,
        turn_results: args.turn_results,
        agents: args.agents,
    })
}

/// Reads the secret that a receiver asks for.
fn read_secret(
    auth: AuthWord,
    from_stdin: bool,
    name: &str,
    output: &Output,
) -> Result<Option<String>, Failure> {
    match auth {
        AuthWord::None if from_stdin => Err(Failure::usage("a secret needs its use")
            .hint("say --auth bearer or --auth hmac, or leave --secret-stdin out")),
        AuthWord::None => Ok(None),
        AuthWord::Bearer | AuthWord::Hmac => {
            let source = if from_stdin {
                SecretSource::Stdin
            } else {
                SecretSource::Prompt {
                    instead: "--secret-stdin",
                }
            };
            let secret = secret::read(source, &format!("the secret of {name}"), output)?;
            Ok(Some(secret.expose_secret().to_owned()))
        }
    }
}

/// Runs one subcommand of `binding`.
pub(super) async fn binding(
    target: Target,
    command: BindingCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        BindingCommand::Add(args) => {
            let host = Host::find(target, Some(args.agent.clone()), output)?;
            let agent_id = host.agent_id().await?;
            let request = binding_request(args, output)?;
            let made = host.client().bind_operator(&agent_id, &request).await;
            let made = host.check_answer(made)?;
            output.answer(&made, |made| {
                format!(
                    "{} is bound to {} as {}",
                    made.agent_id,
                    made.binding.binding.operator_actor_id,
                    made.binding.binding.binding_id
                )
            });
        }
        BindingCommand::List { agent } => {
            let host = Host::find(target, agent, output)?;
            let agent_id: AgentId = host.agent_id().await?;
            let all = host.check_answer(host.client().operator_bindings(&agent_id).await)?;
            output.answer(&all, |all| render::delivery::bindings(&all.bindings));
        }
        BindingCommand::Revoke { agent, binding } => {
            let host = Host::find(target, Some(agent), output)?;
            let agent_id = host.agent_id().await?;
            let gone = host.client().revoke_binding(&agent_id, &binding).await;
            let gone = host.check_answer(gone)?;
            output.answer(&gone, |gone| {
                format!("binding {} is revoked", gone.binding_id)
            });
        }
    }
    Ok(Exit::Done)
}

fn binding_request(
    args: AddBindingArgs,
    output: &Output,
) -> Result<OperatorTransportBindingRequest, Failure> {
    let secret = read_secret(args.auth, args.secret_stdin, &args.transport, output)?;
    Ok(OperatorTransportBindingRequest {
        binding_id: None,
        transport: args.transport,
        operator_actor_id: args.actor,
        target_agent_id: None,
        default_route_id: args.route,
        reply_route_ids: args.reply_routes,
        delivery_callback_url: args.callback,
        delivery_auth: DeliveryAuthRequest {
            kind: args.auth.into(),
            key_id: args.key_id,
            secret,
        },
        capabilities: TransportCapabilities {
            text: true,
            markdown: false,
            attachments: false,
        },
        provider: args.provider,
        provider_identity_ref: args.identity,
        expires_at: args.expires_at,
        turn_results: args.turn_results,
        metadata: None,
    })
}
