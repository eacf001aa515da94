//! The route table: every path with the rights it needs, the fact that is kept for repetitions, and its handler.

use crate::gate::Access;
use crate::keyed::Keep;
use crate::route::{
    agent, archive, attachment, budget, callback, context, debug, delivery, events, host_status,
    image, memory, message, model, observe, operator_binding, read, run, runtime, skill, storage,
    task, token, trigger, usage, waiting, webhook, work, workspace,
};
use crate::state::{ActState, ReadState};
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};
use holon_domain::request_key::TokenScope;

/// One row of the table: the path, the rights it needs and its handler.
pub(crate) struct Route<S> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    /// The fact that is kept for repetitions; `Nothing` for a read-only route.
    pub(crate) keep: Keep,
    pub(crate) handler: MethodRouter<S>,
}

const READ: Access = Access::Scope(TokenScope::Read);
const PROMPT: Access = Access::Scope(TokenScope::Prompt);
const CONTROL: Access = Access::Scope(TokenScope::Control);

fn get_route<S: Clone + Send + Sync + 'static>(
    access: Access,
    path: &'static str,
    handler: MethodRouter<S>,
) -> Route<S> {
    Route {
        method: Method::GET,
        path,
        access,
        keep: Keep::Nothing,
        handler,
    }
}

fn post_route<S: Clone + Send + Sync + 'static>(
    access: Access,
    keep: Keep,
    path: &'static str,
    handler: MethodRouter<S>,
) -> Route<S> {
    Route {
        method: Method::POST,
        path,
        access,
        keep,
        handler,
    }
}

/// Read-only routes. Their state has no handle that can change an agent.
pub(crate) fn read_routes() -> Vec<Route<ReadState>> {
    vec![
        get_route(READ, "/", get(runtime::root)),
        get_route(Access::Public, "/healthz", get(runtime::health)),
        get_route(READ, "/readyz", get(observe::ready)),
        get_route(Access::Public, "/handshake", get(runtime::handshake)),
        get_route(READ, "/openapi.json", get(observe::openapi)),
        get_route(READ, "/metrics", get(observe::metrics)),
        get_route(READ, "/control/runtime/status", get(host_status::status)),
        get_route(
            READ,
            "/control/runtime/readiness",
            get(host_status::readiness),
        ),
        get_route(CONTROL, "/tokens", get(token::list)),
        get_route(READ, "/delivery/targets", get(delivery::targets)),
        get_route(READ, "/usage", get(usage::list)),
        get_route(READ, "/budgets", get(budget::list)),
        get_route(READ, "/storage", get(storage::report)),
        get_route(READ, "/models", get(model::models)),
        get_route(READ, "/agents/list", get(read::list)),
        get_route(READ, "/agents/deleted", get(read::deleted)),
        get_route(READ, "/agents/{id}/status", get(read::status)),
        get_route(READ, "/agents/{id}/state", get(read::state)),
        get_route(READ, "/agents/{id}/briefs", get(read::briefs)),
        get_route(READ, "/agents/{id}/transcript", get(read::transcript)),
        get_route(READ, "/agents/{id}/events", get(events::page)),
        get_route(READ, "/agents/{id}/events/stream", get(events::stream)),
        get_route(READ, "/events", get(events::host_page)),
        get_route(READ, "/events/stream", get(events::host_stream)),
        get_route(READ, "/agents/{id}/explain", get(waiting::explain)),
        get_route(READ, "/agents/{id}/context", get(context::show)),
        get_route(CONTROL, "/agents/{id}/debug/prompt", get(debug::prompt)),
        get_route(READ, "/agents/{id}/work-items", get(work::list)),
        get_route(READ, "/agents/{id}/work-items/{item}", get(work::show)),
        get_route(READ, "/agents/{id}/memory/search", get(memory::search)),
        get_route(READ, "/agents/{id}/memory/get", get(memory::get)),
        get_route(READ, "/agents/{id}/memory/episodes", get(memory::episodes)),
        get_route(READ, "/agents/{id}/waits", get(waiting::waits)),
        get_route(READ, "/agents/{id}/tasks", get(task::list)),
        get_route(READ, "/agents/{id}/tasks/{task}", get(task::show)),
        get_route(READ, "/agents/{id}/tasks/{task}/output", get(task::output)),
        get_route(READ, "/agents/{id}/attachment", get(attachment::show)),
        get_route(READ, "/agents/{id}/external-triggers", get(trigger::list)),
        get_route(READ, "/agents/{id}/webhook", get(webhook::show)),
        get_route(READ, "/agents/{id}/skills", get(skill::list)),
        get_route(
            READ,
            "/agents/{id}/operator-bindings",
            get(operator_binding::bindings),
        ),
        get_route(READ, "/agents/{id}/timers", get(waiting::timers)),
        get_route(READ, "/agents/{id}/timers/{timer}", get(waiting::timer)),
        get_route(
            READ,
            "/agents/{id}/worktree-summary",
            get(workspace::summary),
        ),
        get_route(READ, "/worktree-summary", get(workspace::default_summary)),
        get_route(READ, "/status", get(read::default_status)),
        get_route(READ, "/state", get(read::default_state)),
        get_route(READ, "/briefs", get(read::default_briefs)),
        get_route(READ, "/transcript", get(read::default_transcript)),
    ]
}

/// Routes that change an agent or the host.
#[expect(
    clippy::too_many_lines,
    reason = "a table with one entry for each route"
)]
pub(crate) fn act_routes() -> Vec<Route<ActState>> {
    vec![
        post_route(
            PROMPT,
            Keep::Decision,
            "/enqueue",
            post(message::default_enqueue),
        ),
        post_route(
            PROMPT,
            Keep::Decision,
            "/agents/{id}/enqueue",
            post(message::enqueue),
        ),
        post_route(
            CONTROL,
            Keep::Creation,
            "/control/agents/{id}/create",
            post(agent::create),
        ),
        post_route(
            CONTROL,
            Keep::Nothing,
            "/control/agents/{id}/export",
            post(archive::export),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/import",
            post(archive::import),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/clone",
            post(archive::clone),
        ),
        post_route(
            PROMPT,
            Keep::Decision,
            "/control/agents/{id}/prompt",
            post(message::prompt),
        ),
        post_route(PROMPT, Keep::Nothing, image::PATH, post(image::upload)),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/control",
            post(agent::control),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/current-run/abort",
            post(agent::abort),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/archive",
            post(agent::archive),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/delete",
            post(agent::delete),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/model",
            post(model::set),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/model/clear",
            post(model::clear),
        ),
        post_route(
            CONTROL,
            Keep::Nothing,
            "/control/agents/{id}/debug-prompt",
            post(debug::draft),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/context/fold",
            post(context::fold),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/context/clear",
            post(context::clear),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/context/pin",
            post(context::pin),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/context/unpin",
            post(context::unpin),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/context/limit",
            post(context::limit),
        ),
        post_route(
            PROMPT,
            Keep::Decision,
            "/control/agents/{id}/wake",
            post(waiting::wake),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/work-items",
            post(work::create),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/work-items/{item}",
            post(work::update),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/work-items/{item}/complete",
            post(work::complete),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/work-items/{item}/resume",
            post(work::resume),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/waits/{wait}/cancel",
            post(waiting::cancel_wait),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/tasks",
            post(task::start),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/tasks/{task}/input",
            post(task::input),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/tasks/{task}/stop",
            post(task::stop),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/timers",
            post(waiting::create_timer),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/timers/{timer}/cancel",
            post(waiting::cancel_timer),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/agents/{id}/memory/rebuild",
            post(memory::rebuild),
        ),
        post_route(
            Access::Public,
            Keep::Nothing,
            "/callbacks/enqueue/{token}",
            post(callback::enqueue),
        ),
        post_route(
            Access::Public,
            Keep::Nothing,
            "/callbacks/wake/{token}",
            post(callback::wake),
        ),
        post_route(
            Access::Public,
            Keep::Nothing,
            "/webhooks/generic/{id}",
            post(webhook::deliver),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/external-triggers",
            post(trigger::create),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/external-triggers/{trigger}/rotate",
            post(trigger::rotate),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/external-triggers/{trigger}/revoke",
            post(trigger::revoke),
        ),
        post_route(
            CONTROL,
            Keep::Nothing,
            "/control/agents/{id}/external-triggers/{trigger}/reveal",
            post(trigger::reveal),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/webhook",
            post(webhook::set),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/webhook/remove",
            post(webhook::remove),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/workspace/attach",
            post(workspace::attach),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/workspace/use",
            post(workspace::use_workspace),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/workspace/exit",
            post(workspace::exit),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/workspace/detach",
            post(workspace::detach),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/worktrees",
            post(workspace::worktrees),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/agents/{id}/skills/install",
            post(skill::install),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/agents/{id}/skills/uninstall",
            post(skill::uninstall),
        ),
        post_route(CONTROL, Keep::Joined, "/control/run", post(run::run)),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/tokens",
            post(token::create),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/tokens/{name}/revoke",
            post(token::revoke),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/budgets",
            post(budget::set),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/budgets/clear",
            post(budget::clear),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/storage/prune",
            post(storage::prune),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/delivery/targets",
            post(delivery::add_target),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/delivery/targets/{name}/test",
            post(delivery::test_target),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/delivery/targets/{name}/remove",
            post(delivery::remove_target),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/delivery/targets/{name}/retry",
            post(delivery::retry_target),
        ),
        post_route(
            CONTROL,
            Keep::Both,
            "/control/agents/{id}/operator-bindings",
            post(operator_binding::bind),
        ),
        post_route(
            CONTROL,
            Keep::Decision,
            "/control/agents/{id}/operator-bindings/{binding}/revoke",
            post(operator_binding::revoke),
        ),
        post_route(
            CONTROL,
            Keep::Response,
            "/control/agents/{id}/operator-bindings/{binding}/retry",
            post(operator_binding::retry_binding),
        ),
        post_route(
            PROMPT,
            Keep::Decision,
            "/control/agents/{id}/operator-ingress",
            post(operator_binding::ingress),
        ),
        post_route(
            CONTROL,
            Keep::ResponseIfPossible,
            "/control/runtime/reload",
            post(runtime::reload),
        ),
        post_route(
            CONTROL,
            Keep::ResponseIfPossible,
            "/control/runtime/shutdown",
            post(runtime::shutdown),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_api::is_repeated;

    /// Routes that change nothing, that know repetitions by other means, or whose answer must not be kept.
    const KEPT_NOWHERE: [&str; 7] = [
        "/control/agents/{id}/export",
        "/control/images",
        "/control/agents/{id}/debug-prompt",
        "/callbacks/enqueue/{token}",
        "/callbacks/wake/{token}",
        "/webhooks/generic/{id}",
        "/control/agents/{id}/external-triggers/{trigger}/reveal",
    ];

    #[test]
    fn every_other_route_that_changes_something_keeps_its_reply() {
        let unkept = act_routes().into_iter();
        let unkept = unkept.filter(|route| route.keep == Keep::Nothing);
        let unkept: Vec<&str> = unkept.map(|route| route.path).collect();
        assert_eq!(unkept, KEPT_NOWHERE);
    }

    #[test]
    fn clients_repeat_what_is_kept_and_what_changes_nothing() {
        for route in act_routes() {
            // The same image has the same digest, however often it is sent.
            let is_read = ["/reveal", "/debug-prompt", "/images"]
                .iter()
                .any(|end| route.path.ends_with(end));
            let is_public = route.access == Access::Public;
            // The secret of a token is in its first answer only.
            let is_of_tokens = route.path.starts_with("/control/tokens");
            if is_public || is_of_tokens {
                continue;
            }
            // A host that shuts down does not answer again.
            let is_of_host = route.keep == Keep::ResponseIfPossible;
            let may_repeat = !is_of_host && route.keep != Keep::Nothing || is_read;
            assert_eq!(is_repeated(route.path), may_repeat, "{}", route.path);
        }
    }
}
