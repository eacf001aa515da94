//! Code, meaning and next step of every refusal of the core.

use holon_domain::refusal::RefusalText;

pub(super) const STOPPED: RefusalText = RefusalText::with_hint(
    "agent_stopped",
    "the agent is stopped: it starts nothing and admits nothing; what was queued before stays",
    "start it with: holon agent start {agent_id}",
);
pub(super) const NO_HOME: RefusalText = RefusalText::with_hint(
    "agent_home_missing",
    "the agent is stopped because its home directory cannot be made: something else is in its place",
    "mend what the message names, then: holon agent start {agent_id}",
);
pub(super) const ARCHIVED: RefusalText = RefusalText::with_hint(
    "agent_archived",
    "the agent is archived: its history can be read, and it takes nothing more",
    "make a copy that can be started: holon agent clone {agent_id} NAME",
);
pub(super) const DELETING: RefusalText = RefusalText::without_hint(
    "agent_deleting",
    "the agent is being removed and takes nothing more",
    "wait until it is gone, then create it afresh",
);
pub(super) const QUEUE_FULL: RefusalText = RefusalText::with_hint(
    "queue_full",
    "the agent's queue is at its limit for everyone",
    "wait until the agent has worked some of it off, then try again",
);
pub(super) const QUEUE_FULL_FOR_OTHERS: RefusalText = RefusalText::with_hint(
    "queue_full_for_others",
    "the agent's queue is at its limit for messages that are not an operator's; the rest of its room is kept for operators",
    "wait until the agent has worked some of it off, then try again; operators send to /control/agents/{agent_id}/prompt",
);
pub(super) const NO_MODEL: RefusalText = RefusalText::with_hint(
    "no_model",
    "neither the request, the agent nor the settings say which model to ask",
    "choose one with --model PROVIDER/MODEL or HOLON_MODEL; without a key try: holon demo",
);
pub(super) const MODEL_UNAVAILABLE: RefusalText = RefusalText::without_hint(
    "model_unavailable",
    "the model cannot be asked: unknown provider, no credential, or an unreadable script",
    "the message says what is missing; `holon config doctor` shows all of it",
);
pub(super) const NO_SUCH_TASK: RefusalText = RefusalText::with_hint(
    "task_not_found",
    "the agent has no task of this id, or the task ended long ago and is no longer kept",
    "look at the agent's tasks with: holon task list",
);
pub(super) const NO_SUCH_TURN: RefusalText = RefusalText::with_hint(
    "turn_not_found",
    "the agent has no such turn, or its log is no longer stored",
    "see its turns with: holon transcript --agent {agent_id}",
);
pub(super) const TURN_STILL_OPEN: RefusalText = RefusalText::with_hint(
    "turn_still_open",
    "the agent is at work on the turn, and only a turn that is over can be pinned",
    "wait until it is over, or abort it with: holon agent abort {agent_id}",
);
pub(super) const TURN_NOT_IN_THREAD: RefusalText = RefusalText::with_hint(
    "turn_not_in_thread",
    "the thread does not show the turn any more: the recap of a fold stands for it",
    "see what the thread shows with: holon context show --agent {agent_id}",
);
pub(super) const PIN_TOO_LARGE: RefusalText = RefusalText::with_hint(
    "pin_too_large",
    "pinned turns may take a share of the thread together, and this one has no room in it",
    "see their sizes with: holon context show --agent {agent_id}; make room with: holon context unpin TURN",
);
pub(super) const TOO_MANY_PINS: RefusalText = RefusalText::with_hint(
    "too_many_pins",
    "the agent has as many pinned turns as it may have",
    "see them with: holon context show --agent {agent_id}; make room with: holon context unpin TURN",
);
pub(super) const NO_CURRENT_RUN: RefusalText = RefusalText::with_hint(
    "no_current_run",
    "the agent runs no turn, so there is nothing to abort",
    "see its state with: holon status --agent {agent_id}",
);
pub(super) const STALE_RUN: RefusalText = RefusalText::with_hint(
    "stale_run_id",
    "the named run is over; `current_run_id` is the one that runs",
    "abort the current one by its id, or leave the id out",
);
pub(super) const TASK_OVER: RefusalText = RefusalText::without_hint(
    "task_over",
    "the task has ended, so it takes no input any more",
    "the agent starts the command again if it is still needed",
);
pub(super) const TOO_MANY_TASKS: RefusalText = RefusalText::with_hint(
    "too_many_tasks",
    "the agent has as many unfinished tasks as it may have",
    "stop one of them, or wait until one is over: holon task list --agent {agent_id}",
);
pub(super) const INVALID_COMMAND: RefusalText = RefusalText::with_hint(
    "invalid_command",
    "the command, its directory or its shell cannot be used: it is empty, or it contains a NUL character",
    "give the command as one text for a shell, without NUL characters",
);
pub(super) const NO_SUCH_WORK_ITEM: RefusalText = RefusalText::with_hint(
    "work_item_not_found",
    "the agent has no work item with this id",
    "see its work items with: holon work list --agent {agent_id}",
);
pub(super) const WORK_ITEM_COMPLETED: RefusalText = RefusalText::with_hint(
    "work_item_completed",
    "the work item is completed, and a completed item does not change any more",
    "make another with: holon work create --agent {agent_id} OBJECTIVE",
);
pub(super) const NO_SUCH_WAIT: RefusalText = RefusalText::with_hint(
    "wait_not_found",
    "the agent has no active wait with this id",
    "see its waits with: holon wait list --agent {agent_id}",
);
pub(super) const NO_SUCH_TIMER: RefusalText = RefusalText::with_hint(
    "timer_not_found",
    "the agent has no active timer with this id",
    "see its timers with: holon timer list --agent {agent_id}",
);
pub(super) const NO_SUCH_TRIGGER: RefusalText = RefusalText::with_hint(
    "external_trigger_not_found",
    "the agent has no active external trigger with this id",
    "see its triggers with: holon trigger list --agent {agent_id}",
);
pub(super) const TRIGGER_MODE_NOT_ALLOWED: RefusalText = RefusalText::with_hint(
    "external_trigger_mode_not_allowed",
    "content from outside becomes messages of an agent only after an operator made a trigger for it",
    "an operator allows it with: holon trigger create --agent {agent_id} --mode enqueue_message",
);
pub(super) const TRIGGER_REVOKED_BY_OPERATOR: RefusalText = RefusalText::with_hint(
    "external_trigger_revoked",
    "an operator's revocation holds until an operator makes another trigger of that mode; one by an earlier build counts \
     as an operator's if it is not known any more who made it",
    "an operator allows it again with: holon trigger create --agent {agent_id} --mode wake_hint",
);
pub(super) const UNKNOWN_TOKEN: RefusalText = RefusalText::with_hint(
    "callback_not_found",
    "the token of the URL is unknown, revoked or rotated; all of them get this one answer",
    "ask the owner of the agent for its current URL",
);
pub(super) const TRIGGER_MODE_MISMATCH: RefusalText = RefusalText::with_hint(
    "callback_mode_mismatch",
    "the token belongs to the other of the two paths /callbacks/wake and /callbacks/enqueue",
    "use the URL as it was given",
);
pub(super) const INVALID_WORK: RefusalText = RefusalText::without_hint(
    "invalid_work",
    "a work item, wait, timer or wake cannot be made or changed as it was asked for",
    "correct what the message names; `holon work`, `holon wait`, `holon timer` and `holon wake` with --help show what can be given",
);
pub(super) const WORKSPACE_NOT_ATTACHED: RefusalText = RefusalText::with_hint(
    "workspace_not_attached",
    "the agent has not attached a workspace with this id",
    "see its workspaces with: holon workspace list",
);
pub(super) const WORKSPACE_ACTIVE: RefusalText = RefusalText::with_hint(
    "workspace_active",
    "the workspace in which the agent works cannot be detached",
    "leave it first with: holon workspace exit",
);
pub(super) const WORKSPACE_IS_HOME: RefusalText = RefusalText::without_hint(
    "workspace_is_home",
    "an agent's home is its fallback workspace and can be neither left nor detached",
    "use another workspace with: holon workspace use",
);
pub(super) const TOO_MANY_WORKSPACES: RefusalText = RefusalText::with_hint(
    "workspace_limit",
    "the agent has as many attached workspaces as it may have",
    "detach one with: holon workspace detach WORKSPACE_ID",
);
pub(super) const NO_SUCH_BINDING: RefusalText = RefusalText::without_hint(
    "binding_not_found",
    "the agent has no binding to a remote operator with this id",
    "see its bindings with: holon binding list AGENT",
);
pub(super) const BINDING_INACTIVE: RefusalText = RefusalText::without_hint(
    "binding_inactive",
    "the binding was revoked or has expired, so it admits nothing",
    "make another with: holon binding add AGENT",
);
pub(super) const OPERATOR_MISMATCH: RefusalText = RefusalText::without_hint(
    "operator_mismatch",
    "the actor, the provider or the identity of the message is not the one that its binding names",
    "send it under the binding of that operator",
);
pub(super) const OPERATOR_IDENTITY_MISSING: RefusalText = RefusalText::with_hint(
    "operator_identity_missing",
    "the binding names a provider or an identity of its operator, and the message leaves it out",
    "send `provider` and `provider_identity_ref` as the binding has them: holon binding list AGENT",
);
pub(super) const TOO_MANY_BINDINGS: RefusalText = RefusalText::without_hint(
    "binding_limit",
    "the agent has as many active bindings to remote operators as it may have",
    "revoke one with: holon binding revoke AGENT BINDING_ID",
);
pub(super) const ATTACH_FORBIDDEN: RefusalText = RefusalText::with_hint(
    "attach_forbidden",
    "the profile of the agent withholds the tool family authority_expansion, to which attaching a directory belongs",
    "use a workspace that is attached, or ask the supervisor of the agent",
);
pub(super) const POLICY_DENIED: RefusalText = RefusalText::without_hint(
    "execution_policy_denied",
    "the execution policy of the host does not offer what was asked for",
    "`holon status` shows what it offers",
);
pub(super) const EMPTY_BODY: RefusalText = RefusalText::without_hint(
    "empty_message",
    "an operator's prompt without words",
    "say what the agent should do",
);
pub(super) const TOO_LARGE: RefusalText = RefusalText::with_hint(
    "too_large",
    "the request body, the message body or its metadata is over its size limit",
    "put large content into a file the agent can read and send its path",
);
pub(super) const TOO_MANY_IMAGES: RefusalText = RefusalText::with_hint(
    "too_many_images",
    "the images of a prompt are more, or larger together, than one request to a model shows",
    "send smaller copies, or send some of them with another prompt",
);
pub(super) const NAME_TOO_LONG: RefusalText = RefusalText::with_hint(
    "name_too_long",
    "`correlation_id`, `causation_id` or a string of the origin is over its size limit",
    "send a short id, and put what is longer into the body or the metadata",
);
pub(super) const NO_ROUNDS: RefusalText = RefusalText::without_hint(
    "invalid_max_turns",
    "`max_turns` is 0, so the turn could not ask a model even once",
    "give at least 1, or leave it out",
);
pub(super) const KIND_ORIGIN_MISMATCH: RefusalText = RefusalText::with_hint(
    "kind_origin_mismatch",
    "the message names a kind that its origin cannot have",
    "send channel_event with a channel origin, webhook_event with a webhook origin, or only one of the two",
);
pub(super) const KIND_NOT_PUBLIC: RefusalText = RefusalText::with_hint(
    "kind_not_allowed",
    "a kind of message that only the operator or the runtime may send",
    "use channel_event or webhook_event; operators send to the prompt route of the agent",
);
pub(super) const ORIGIN_NOT_PUBLIC: RefusalText = RefusalText::with_hint(
    "origin_not_accepted",
    "the message claims an origin that this route does not vouch for",
    "use a channel or a webhook origin; operators send to the prompt route of the agent",
);
pub(super) const PRIORITY_NOT_PUBLIC: RefusalText = RefusalText::with_hint(
    "priority_not_allowed",
    "priority `interject` enters a running turn and belongs to operators",
    "use next, normal or background here, or send it to the prompt route of the agent",
);
pub(super) const BODY_NOT_PUBLIC: RefusalText = RefusalText::with_hint(
    "body_not_allowed",
    "a body of type `brief`, which only the runtime writes",
    "send text or json",
);
