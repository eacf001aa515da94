//! Delivery targets, trials and bindings in words.

use crate::addressing::hint;
use holon_api::{
    DeliveryTargetView, OperatorBindingView, RemoveDeliveryTargetResponse, RetryDeliveriesResponse,
    TargetState, TestDeliveryResponse,
};
use holon_domain::Timestamp;
use holon_domain::delivery::TargetKind;
use holon_domain::operator_transport::BindingStatus;

/// Renders the targets, two or three lines each.
pub(crate) fn targets(targets: &[DeliveryTargetView]) -> String {
    if targets.is_empty() {
        return hint("no delivery targets; add one with: holon delivery add NAME --http URL");
    }
    let lines: Vec<String> = targets.iter().map(target).collect();
    lines.join("\n")
}

fn target(target: &DeliveryTargetView) -> String {
    let place = match &target.kind {
        TargetKind::Http { url, .. } | TargetKind::Ntfy { url, .. } => url.clone(),
        TargetKind::Command { argv } => argv.join(" "),
    };
    let head = format!(
        "{}  {}  {}  {}",
        target.name,
        target.kind.as_str(),
        place,
        Deliveries::of_target(target).state()
    );
    let mut lines = vec![head];
    if let Some(error) = &target.last_error {
        lines.push(format!("  last error: {error}"));
    }
    lines.join("\n")
}

/// State of the deliveries to a target or a binding.
#[derive(Debug)]
struct Deliveries {
    state: TargetState,
    delivered: bool,
    pending: u64,
    sending_since: Option<Timestamp>,
    failing_since: Option<Timestamp>,
    retry_at: Option<Timestamp>,
}

impl Deliveries {
    fn of_target(target: &DeliveryTargetView) -> Self {
        Self {
            state: target.state,
            delivered: target.delivered,
            pending: target.pending,
            sending_since: target.sending_since,
            failing_since: target.failing_since,
            retry_at: target.retry_at,
        }
    }

    fn of_binding(view: &OperatorBindingView) -> Self {
        Self {
            state: view.state,
            delivered: view.delivered,
            pending: view.pending,
            sending_since: None,
            failing_since: view.failing_since,
            retry_at: view.retry_at,
        }
    }

    /// Renders the one state.
    fn state(&self) -> String {
        let pending = match self.pending {
            0 => String::new(),
            count => format!(", {count} pending"),
        };
        let since = self
            .failing_since
            .map_or_else(String::new, |since| format!(" since {since}"));
        let words = match self.state {
            TargetState::Ok => match self.sending_since {
                Some(at) => format!("sending since {at}"),
                None if self.delivered => "ok".to_owned(),
                None => "nothing sent yet".to_owned(),
            },
            TargetState::Retrying => match self.retry_at {
                Some(at) => format!("failing{since}, retried at {at}"),
                None => format!("failing{since}, being retried"),
            },
            TargetState::Failed => format!("failed{since}"),
        };
        format!("{words}{pending}")
    }
}

/// Renders the removal of a target.
pub(crate) fn removal(gone: &RemoveDeliveryTargetResponse) -> String {
    let name = &gone.name;
    match gone.given_up {
        0 => format!("target {name} is removed"),
        1 => format!("target {name} is removed; 1 delivery that waited for it is given up"),
        count => {
            format!("target {name} is removed; {count} deliveries that waited for it are given up")
        }
    }
}

/// Renders the answer to a request to try at once. The command with this name shows what comes of it.
pub(crate) fn retry(retried: &RetryDeliveriesResponse, shown_by: &str) -> String {
    let name = &retried.name;
    match retried.pending {
        0 => format!("nothing waits for {name}"),
        count => format!(
            "what waits for {name} is tried now ({count} pending); see: holon {shown_by} list"
        ),
    }
}

/// Renders what a trial sent and what came back.
pub(crate) fn trial(trial: &TestDeliveryResponse) -> String {
    let indent = |words: &str| {
        let lines: Vec<String> = words.lines().map(|line| format!("  {line}")).collect();
        lines.join("\n")
    };
    let verdict = match &trial.error {
        None => "accepted".to_owned(),
        Some(error) => format!("not accepted: {error}"),
    };
    let received = match trial.received.is_empty() {
        true => "  nothing".to_owned(),
        false => indent(&trial.received),
    };
    format!(
        "sent:\n{}\ncame back:\n{received}\n{verdict}",
        indent(&trial.sent)
    )
}

/// Renders the bindings of an agent, one line each.
pub(crate) fn bindings(bindings: &[OperatorBindingView]) -> String {
    if bindings.is_empty() {
        return hint(
            "no bindings; make one with: holon binding add AGENT --transport NAME --actor ID --route ID --callback URL",
        );
    }
    let line = |view: &OperatorBindingView| {
        let binding = &view.binding;
        let status = match binding.status {
            BindingStatus::Active => "active",
            BindingStatus::Revoked => "revoked",
            BindingStatus::Expired => "expired",
        };
        let head = format!(
            "{}  {}  {} by {}  {}",
            binding.binding_id,
            status,
            binding.operator_actor_id,
            binding.transport,
            Deliveries::of_binding(view).state()
        );
        match &view.last_error {
            Some(error) => format!("{head}\n  last error: {error}"),
            None => head,
        }
    };
    bindings.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::delivery::{DeliveryTarget, TargetAuth};

    fn view(state: TargetState) -> DeliveryTargetView {
        let target = DeliveryTarget {
            name: "phone".to_owned(),
            kind: TargetKind::Ntfy {
                url: "https://ntfy.sh/x".to_owned(),
                auth: TargetAuth::None,
            },
            turn_results: false,
            agents: Vec::new(),
            created_at: Timestamp::from_millis(0),
            id: None,
        };
        DeliveryTargetView {
            state,
            delivered: true,
            ..DeliveryTargetView::new(target)
        }
    }

    #[test]
    fn a_target_has_one_clear_state() {
        assert_eq!(
            targets(&[view(TargetState::Ok)]),
            "phone  ntfy  https://ntfy.sh/x  ok"
        );
        let unused = DeliveryTargetView {
            delivered: false,
            ..view(TargetState::Ok)
        };
        assert_eq!(
            targets(&[unused]),
            "phone  ntfy  https://ntfy.sh/x  nothing sent yet"
        );
        let hanging = DeliveryTargetView {
            delivered: false,
            pending: 1,
            sending_since: Some(Timestamp::from_millis(0)),
            ..view(TargetState::Ok)
        };
        let since = Timestamp::from_millis(0);
        assert_eq!(
            targets(&[hanging]),
            format!("phone  ntfy  https://ntfy.sh/x  sending since {since}, 1 pending")
        );
        let failing = DeliveryTargetView {
            pending: 3,
            failing_since: Some(Timestamp::from_millis(0)),
            retry_at: Some(Timestamp::from_millis(60_000)),
            last_error: Some("the endpoint answered 500".to_owned()),
            ..view(TargetState::Retrying)
        };
        let until = Timestamp::from_millis(60_000);
        assert_eq!(
            targets(&[failing]),
            format!(
                "phone  ntfy  https://ntfy.sh/x  failing since {since}, retried at {until}, 3 pending\n  \
                 last error: the endpoint answered 500"
            )
        );
    }

    #[test]
    fn a_binding_shows_the_state_of_its_deliveries() {
        let since = Timestamp::from_millis(0);
        let binding = serde_json::json!({
            "binding_id": "opb_1", "transport": "bridge", "operator_actor_id": "jo",
            "default_route_id": "r", "delivery_callback_url": "http://127.0.0.1:9/",
            "delivery_auth": {"kind": "none"}, "capabilities": {"text": true},
            "status": "active", "created_at": since, "target_agent_id": "main",
        });
        let shown = |state, failing_since, delivered| {
            let view: OperatorBindingView =
                serde_json::from_value(binding.clone()).expect("a binding");
            bindings(&[OperatorBindingView {
                state,
                failing_since,
                delivered,
                ..view
            }])
        };
        let head = "opb_1  active  jo by bridge";
        let unused = shown(TargetState::Ok, None, false);
        assert_eq!(unused, format!("{head}  nothing sent yet"));
        assert_eq!(shown(TargetState::Ok, None, true), format!("{head}  ok"));
        let failing = shown(TargetState::Retrying, Some(since), true);
        assert_eq!(
            failing,
            format!("{head}  failing since {since}, being retried")
        );
        let failed = shown(TargetState::Failed, Some(since), true);
        assert_eq!(failed, format!("{head}  failed since {since}"));
    }

    #[test]
    fn a_trial_shows_what_was_sent_and_what_came_back() {
        let shown = trial(&TestDeliveryResponse {
            ok: false,
            name: "phone".to_owned(),
            sent: "POST https://x/\n\n{}".to_owned(),
            received: "500 no".to_owned(),
            error: Some("the endpoint answered 500 no".to_owned()),
        });
        assert_eq!(
            shown,
            "sent:\n  POST https://x/\n  \n  {}\ncame back:\n  500 no\nnot accepted: the endpoint answered 500 no"
        );
    }
}
