//! Requests of calls that have not ended yet.

use crate::describe::CommandRequest;
use crate::text::cut_line;
use holon_domain::event::ProcessExecutionRequested;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use std::collections::VecDeque;

/// Most calls whose requests are kept. Calls run one at a time, apart from reads; at the bound the oldest is forgotten,
/// and its row shows the result without the command.
const OPEN_CALLS: usize = 64;
/// Most commands of one call that are kept. A row shows fewer.
const CALL_COMMANDS: usize = 32;
/// Longest id of a call that is kept; the runtime's own are shorter.
const ID_BYTES: usize = 100;

#[derive(Debug, Clone, Default)]
pub(super) struct OpenCalls {
    calls: VecDeque<OpenCall>,
}

#[derive(Debug, Clone)]
struct OpenCall {
    id: String,
    commands: Vec<CommandRequest>,
}

impl OpenCalls {
    pub(super) fn add(&mut self, e: &ProcessExecutionRequested) {
        let id = e.tool_call_id.as_str();
        if id.len() > ID_BYTES {
            return;
        }
        let request = CommandRequest {
            cmd: cut_line(&e.cmd_preview, EVENT_PREVIEW_BYTES),
            workdir: e
                .workdir
                .as_deref()
                .map(|dir| cut_line(dir, EVENT_PREVIEW_BYTES)),
        };
        match self.calls.iter_mut().find(|call| call.id == id) {
            Some(call) if call.commands.len() < CALL_COMMANDS => call.commands.push(request),
            Some(_) => {}
            None => {
                self.calls.truncate(OPEN_CALLS - 1);
                self.calls.push_front(OpenCall {
                    id: id.to_owned(),
                    commands: vec![request],
                });
            }
        }
    }

    /// Removes a call and returns the commands that it asked for.
    pub(super) fn take(&mut self, id: &str) -> Vec<CommandRequest> {
        let position = self.calls.iter().position(|call| call.id == id);
        let call = position.and_then(|at| self.calls.remove(at));
        call.map(|call| call.commands).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}
