//! Records events about requested commands, in the commit that requests them.
//!
//! The result of a call says whether its command was started.

use crate::draft::Draft;
use crate::input::CallIntent;
use holon_domain::block::ToolCall;
use holon_domain::event::{Event, ProcessExecutionRequested};
use holon_domain::intent::{BatchItem, ExecCommand, HostAction, Intent};
use holon_domain::turn::OpenTurn;
use holon_domain::{limits, text};

/// Records each command that a call requests: one, or the items of a batch in their order.
pub(super) fn record_commands(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    planned: Option<&CallIntent>,
) {
    let Some(Ok(Intent::Host(action))) = planned else {
        return;
    };
    match action {
        HostAction::ExecCommand(command) => record(draft, turn, call, command, None),
        HostAction::ExecCommandBatch(batch) => {
            for (number, item) in (1..).zip(&batch.items) {
                match item {
                    BatchItem::Command(command) => record(draft, turn, call, command, Some(number)),
                    BatchItem::Rejected(_) => {}
                }
            }
        }
        HostAction::ApplyPatch(_)
        | HostAction::TaskInput(_)
        | HostAction::TaskOutput(_)
        | HostAction::WritePlan
        | HostAction::WorkQuery(_)
        | HostAction::Memory(_)
        | HostAction::UseWorkspace(_)
        | HostAction::WebFetch(_)
        | HostAction::WebSearch(_)
        | HostAction::ViewImage { .. }
        | HostAction::PrepareChild(_)
        | HostAction::LookAtFiles { .. } => {}
    }
}

fn record(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    command: &ExecCommand,
    batch_item: Option<u32>,
) {
    let preview = |words: &str| text::preview(words, limits::EVENT_PREVIEW_BYTES);
    draft.event(Event::ProcessExecutionRequested(
        ProcessExecutionRequested {
            tool_call_id: call.id.clone(),
            surface: call.name.clone(),
            batch_item,
            cmd_preview: preview(&command.cmd),
            workdir: command.workdir.as_deref().map(preview),
            authority_class: turn.authority,
            turn_index: turn.turn_index,
            run_id: turn.run_id.clone(),
            message_seq: Some(turn.message_seq),
        },
    ));
}
