//! Rule of deliveries from outside: each is one message if it was acknowledged and at most one if it was not, no matter
//! how often its sender repeated it and when the host was killed.

use crate::record::SentDelivery;
use crate::rows::{MessageRow, Rows};
use std::collections::BTreeMap;

pub(super) fn check(rows: &Rows, sent: &BTreeMap<String, SentDelivery>) -> Vec<String> {
    let mut stored: BTreeMap<&str, Vec<&MessageRow>> = BTreeMap::new();
    for row in rows
        .messages
        .iter()
        .filter(|row| matches!(row.kind.as_str(), "callback_event" | "webhook_event"))
    {
        let id = row.delivery_id.as_deref().unwrap_or_default();
        stored.entry(id).or_default().push(row);
    }
    let mut found = Vec::new();
    for (id, delivery) in sent {
        let messages = stored.remove(id.as_str()).unwrap_or_default();
        let agent = &delivery.agent;
        if messages.len() > 1 {
            found.push(format!(
                "{agent}: delivery {id} is {} messages",
                messages.len()
            ));
        }
        for named in &delivery.message_ids {
            if !messages.iter().any(|row| row.id == *named) {
                found.push(format!(
                    "{agent}: delivery {id} was answered as {named}, which is not there"
                ));
            }
        }
    }
    found.extend(
        stored
            .keys()
            .map(|id| format!("delivery {id:?} was not sent")),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, delivery: &str) -> MessageRow {
        MessageRow {
            id: id.to_owned(),
            kind: "callback_event".to_owned(),
            delivery_id: Some(delivery.to_owned()),
            ..MessageRow::default()
        }
    }

    fn judged(messages: Vec<MessageRow>, acknowledged: &[&str]) -> usize {
        let rows = Rows {
            messages,
            ..Rows::default()
        };
        let delivery = SentDelivery {
            agent: "a".to_owned(),
            message_ids: acknowledged.iter().map(|id| (*id).to_owned()).collect(),
        };
        check(&rows, &BTreeMap::from([("d".to_owned(), delivery)])).len()
    }

    #[test]
    fn a_delivery_is_one_message_if_it_was_acknowledged_and_at_most_one_otherwise() {
        assert_eq!(judged(vec![message("m", "d")], &["m", "m"]), 0);
        assert_eq!(judged(vec![message("m", "d")], &[]), 0);
        assert_eq!(judged(Vec::new(), &[]), 0);
        assert_eq!(judged(Vec::new(), &["m"]), 1);
        assert_eq!(judged(vec![message("m", "d"), message("n", "d")], &[]), 1);
        assert_eq!(judged(vec![message("m", "d")], &["m", "n"]), 1);
        assert_eq!(judged(vec![message("m", "other")], &[]), 1);
    }
}
