//! Checks beyond the schema: the order of speakers, and that every call is answered once and at once.

use serde_json::Value;

/// One entry of a request, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    /// Text from outside the model.
    User,
    /// Text or reasoning of the model.
    Assistant,
    /// Holds the id of the call.
    Call(String),
    /// Holds the id of the call it answers.
    Result(String),
}

/// Asserts that each id is called once, that its result follows before any other speaker, and that there are no other
/// results.
pub(super) fn assert_calls_are_answered(entries: &[Entry]) {
    let mut known: Vec<&str> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for one in entries {
        match one {
            Entry::Call(id) => {
                assert!(
                    !answering || open.is_empty(),
                    "a call among results: {entries:?}"
                );
                assert!(
                    !known.contains(&id.as_str()),
                    "{id} calls twice: {entries:?}"
                );
                known.push(id);
                open.push(id);
                answering = false;
            }
            Entry::Result(id) => {
                let place = open.iter().position(|open| open == id);
                open.remove(place.unwrap_or_else(|| panic!("{id} is not open: {entries:?}")));
                answering = true;
            }
            Entry::Assistant => {
                assert!(
                    !answering || open.is_empty(),
                    "words among results: {entries:?}"
                );
                answering = false;
            }
            Entry::User => {
                assert!(open.is_empty(), "{open:?} had to wait: {entries:?}");
                answering = false;
            }
        }
    }
    assert!(open.is_empty(), "{open:?} were never answered: {entries:?}");
}

fn list<'a>(of: &'a Value, member: &str) -> &'a [Value] {
    of.get(member)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn word<'a>(of: &'a Value, member: &str) -> &'a str {
    of.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Lists the entries of a Messages request.
pub(super) fn messages(body: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in list(body, "messages") {
        for block in list(message, "content") {
            entries.push(match (word(message, "role"), word(block, "type")) {
                (_, "tool_use") => Entry::Call(word(block, "id").to_owned()),
                (_, "tool_result") => Entry::Result(word(block, "tool_use_id").to_owned()),
                ("user", _) => Entry::User,
                _ => Entry::Assistant,
            });
        }
    }
    entries
}

/// Asserts the rules of Messages: roles alternate and begin with the user, breakpoints are few and on cacheable blocks,
/// no turn ends in thinking.
pub(super) fn assert_messages_rules(body: &Value) {
    let turns = list(body, "messages");
    for (index, message) in turns.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(word(message, "role"), role, "{body:#}");
        let last = list(message, "content")
            .last()
            .expect("a turn says something");
        assert!(!word(last, "type").contains("thinking"), "{body:#}");
    }
    let blocks = || {
        let blocks = turns.iter().flat_map(|turn| list(turn, "content"));
        list(body, "system").iter().chain(blocks)
    };
    let marked = |block: &&Value| block.get("cache_control").is_some();
    assert!(blocks().filter(marked).count() <= 4, "{body:#}");
    assert!(
        blocks().last().is_some_and(|last| marked(&last)),
        "{body:#}"
    );
}

/// Lists the entries of a Chat Completions request.
pub(super) fn chat(body: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in list(body, "messages") {
        match word(message, "role") {
            "user" => entries.push(Entry::User),
            "tool" => entries.push(Entry::Result(word(message, "tool_call_id").to_owned())),
            "assistant" => {
                if message.get("content").is_some_and(Value::is_string) {
                    entries.push(Entry::Assistant);
                }
                for call in list(message, "tool_calls") {
                    entries.push(Entry::Call(word(call, "id").to_owned()));
                }
            }
            _ => {}
        }
    }
    entries
}

/// Asserts the rules of Chat Completions: the user speaks first after the system, only tools speak twice in a row,
/// arguments are an object.
pub(super) fn assert_chat_rules(body: &Value) {
    let messages = list(body, "messages");
    let mut roles = messages
        .iter()
        .map(|message| word(message, "role"))
        .peekable();
    roles.next_if_eq(&"system");
    assert_eq!(roles.peek(), Some(&"user"), "{body:#}");
    let roles: Vec<&str> = roles.collect();
    for pair in roles.windows(2) {
        assert!(pair[0] != pair[1] || pair[0] == "tool", "{body:#}");
        assert!(pair[1] != "system", "{body:#}");
    }
    for call in messages
        .iter()
        .flat_map(|message| list(message, "tool_calls"))
    {
        let arguments = word(&call["function"], "arguments");
        let parsed: Value = serde_json::from_str(arguments).expect("arguments are JSON");
        assert!(parsed.is_object(), "{arguments}");
    }
}

/// Asserts Mistral's rules: call ids have nine letters or digits, and no user message directly follows a tool message.
pub(super) fn assert_mistral_rules(body: &Value) {
    for one in chat(body) {
        if let Entry::Call(id) | Entry::Result(id) = one {
            assert!(
                id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
                "{id}"
            );
        }
    }
    for pair in list(body, "messages").windows(2) {
        let roles = (word(&pair[0], "role"), word(&pair[1], "role"));
        assert_ne!(roles, ("tool", "user"), "{body:#}");
    }
}

/// Lists the entries of a Responses request.
pub(super) fn responses(body: &Value) -> Vec<Entry> {
    let entry = |item: &Value| match (word(item, "type"), word(item, "role")) {
        ("function_call" | "custom_tool_call", _) => Entry::Call(word(item, "call_id").to_owned()),
        ("function_call_output" | "custom_tool_call_output", _) => {
            Entry::Result(word(item, "call_id").to_owned())
        }
        ("message", "user") => Entry::User,
        _ => Entry::Assistant,
    };
    list(body, "input").iter().map(entry).collect()
}

/// Asserts that a call and its result have the form in which the tool is offered, or the form of a function if it is
/// not offered.
pub(super) fn assert_responses_rules(body: &Value) {
    let custom = |name: &str| {
        let mut tools = list(body, "tools").iter();
        tools.any(|tool| word(tool, "name") == name && word(tool, "type") == "custom")
    };
    let mut answers = Vec::new();
    for item in list(body, "input") {
        let id = word(item, "call_id");
        match word(item, "type") {
            "function_call" => {
                assert!(!custom(word(item, "name")), "{body:#}");
                answers.push((id, "function_call_output"));
            }
            "custom_tool_call" => {
                assert!(custom(word(item, "name")), "{body:#}");
                answers.push((id, "custom_tool_call_output"));
            }
            kind @ ("function_call_output" | "custom_tool_call_output") => {
                assert!(answers.contains(&(id, kind)), "{body:#}");
            }
            _ => {}
        }
    }
}
