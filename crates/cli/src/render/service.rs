//! Renders the results of `holon service` as text for people.

use super::join_lines;
use crate::addressing::hint;
use crate::command::service_view::{ServiceChange, ServiceStatus};

/// Renders an installation or its removal.
pub(crate) fn change(change: &ServiceChange) -> String {
    let path = change.path.display();
    let done = match change.action {
        "installed" => format!("installed for {} as {path}", change.manager),
        "uninstalled" => format!("removed {path}; the home stays"),
        _ => format!("not installed: there is no {path}"),
    };
    join_lines([done].into_iter().chain(change.notes.iter().cloned()))
}

/// Renders the status of a service.
pub(crate) fn status(status: &ServiceStatus) -> String {
    let path = status.path.display();
    let word = |fact: Option<bool>| match fact {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    if !status.installed {
        let install = hint("install it with: holon service install");
        return format!("not installed: there is no {path}\n{install}");
    }
    let mut lines = vec![
        format!("installed for {} as {path}", status.manager),
        format!("state: {}", status.active.as_deref().unwrap_or("unknown")),
        format!("starts with your session: {}", word(status.enabled)),
        format!(
            "outlives your session (lingering): {}",
            word(status.lingering)
        ),
    ];
    if status.lingering == Some(false) {
        lines.push("turn lingering on with: loginctl enable-linger".to_owned());
    }
    lines.extend(
        status
            .commands
            .iter()
            .map(|command| format!("    {command}")),
    );
    lines.join("\n")
}
