//! The state of the console. Only `update` changes it.

use crate::conversation::Conversation;
use crate::draft::Draft;
use crate::history::History;
use crate::msg::Problem;
use crate::overlay::Overlay;
use crate::size;
use crate::theme::Theme;
use crate::update::Known;
use holon_client::Answer;
use holon_client::view::Agent;
use holon_domain::AgentId;
use holon_domain::image::SentImage;
use holon_domain::time::Timestamp;
use holon_domain::zone::UTC;
use holon_presentation::DisplayMode;
use std::collections::BTreeMap;

/// State of the connection to the host, as its parts report it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Link {
    /// True once the feed has brought the history.
    pub(crate) is_open: bool,
    /// Trouble of the feed, which tries again.
    pub(crate) feed_trouble: Option<String>,
    /// Trouble of the last request for the status, which is repeated.
    pub(crate) host_trouble: Option<String>,
    /// Reason for which the feed has ended. It begins anew when the agent is there again.
    pub(crate) ended: Option<String>,
    /// True if the host refused the status after the feed has ended.
    pub(crate) is_missing: bool,
}

/// Place in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// The newest line is shown, also when more arrive.
    Bottom,
    /// The last line that is shown, counted from 0 in its row.
    At { seq: u64, line: usize },
}

/// A message that the host has not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Ticket of its last request.
    pub(crate) ticket: u64,
    /// Key of all its requests.
    pub(crate) key: String,
    pub(crate) agent: AgentId,
    pub(crate) text: String,
    pub(crate) images: Vec<SentImage>,
    /// Newest event that was shown when it was sent.
    pub(crate) after_seq: u64,
    /// Time at which a request of it had no answer, so that it may be stored. It is sent again under its key.
    pub(crate) unknown_at: Option<Timestamp>,
    /// Id under which it is stored; absent until the host answers.
    pub(crate) message_id: Option<String>,
}

/// The end of the console, while answers are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) since: Timestamp,
    /// True if a signal ends the console, or the loss of its terminal.
    pub(crate) must: bool,
}

/// What was sent and not answered when the console was closed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenRequests {
    pub messages: Vec<OpenMessage>,
    /// Number of commands that change something.
    pub commands: usize,
}

/// A message that may or may not be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMessage {
    pub agent: AgentId,
    pub text: String,
    /// True if later consoles have it in their input history.
    pub is_kept: bool,
}

/// Purpose of a request that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    Status,
    /// The status of another agent, which is shown if it exists.
    Switch(AgentId),
    /// Texts of briefs, for that of this one.
    Briefs(String),
    /// A part of the transcript, for the text of this message.
    Messages(String),
    Older,
    /// Content of the overlay with this ticket.
    Page,
    Output,
    WorkItem,
    /// The secret URL of a trigger.
    TriggerUrl,
    /// What an argument of a command may be.
    Choices,
    Send,
    /// The upload of an image for the next message.
    Image,
    /// An action of the operator; the sentence of the reply is shown.
    Action,
}

/// One line for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_bad: bool,
    pub(crate) when_back: WhenBack,
}

/// What becomes of a notice when the host answers again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WhenBack {
    Stays,
    Goes,
    Becomes(String),
}

/// What the console is started with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Address of the host, for people.
    pub host: String,
    pub agent: AgentId,
    pub mode: DisplayMode,
    pub theme: Theme,
    pub columns: u16,
    pub rows: u16,
    /// What was entered in earlier consoles, oldest first.
    pub history: Vec<String>,
    /// What to do if the host refuses the token. Absent for a host that asks for none.
    pub token_advice: Option<String>,
    /// Beginning of the keys of messages, which no other console has.
    pub key: String,
}

/// The completions of a draft.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Menu {
    /// Position of the selected one.
    pub(crate) choice: usize,
    /// True if the operator selected it by a key.
    pub(crate) moved: bool,
    /// True if the operator closed them.
    pub(crate) closed: bool,
}

/// All of the console.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) host: String,
    pub(crate) agent: AgentId,
    /// Columns and rows that are drawn.
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    pub(crate) theme: Theme,
    pub(crate) link: Link,
    /// Number of the feed whose news counts.
    pub(crate) feed: u64,
    pub(crate) conversation: Conversation,
    pub(crate) scroll: Scroll,
    pub(crate) pending: Vec<Pending>,
    /// Images that go with the next message.
    pub(crate) images: Vec<SentImage>,
    pub(crate) draft: Draft,
    /// Drafts of agents that are not shown.
    pub(crate) drafts: BTreeMap<AgentId, Draft>,
    pub(crate) history: History,
    pub(crate) menu: Menu,
    /// What arguments of commands may be.
    pub(crate) known: Known,
    /// Open overlays; the last one is on top.
    pub(crate) overlays: Vec<Overlay>,
    /// Last status of the agent; absent before the first reply.
    pub(crate) status: Option<Box<Answer<Agent>>>,
    pub(crate) notice: Option<Notice>,
    /// Time of the last tick.
    pub(crate) now: Timestamp,
    pub(crate) next_ticket: u64,
    /// Requests that are under way.
    pub(crate) asked: BTreeMap<u64, Purpose>,
    /// Time at which the status was asked for last.
    pub(crate) status_asked_at: Timestamp,
    /// True if the status changed while a request for it was under way.
    pub(crate) status_is_old: bool,
    /// Time at which texts could not be read. They are asked for again after a pause.
    pub(crate) texts_failed_at: Option<Timestamp>,
    pub(crate) leaving: Option<Departure>,
    pub(crate) has_quit: bool,
    pub(crate) token_advice: Option<String>,
    /// Beginning of the keys of messages.
    pub(crate) key: String,
}

impl Model {
    /// Returns the zone in which times are shown: that of the operator's clock, as the host says.
    pub(crate) fn zone(&self) -> &str {
        self.status
            .as_ref()
            .map_or(UTC, |agent| &agent.operator_time_zone)
    }

    /// Creates the state before anything is known.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let (columns, rows) = size::drawn(setup.columns, setup.rows);
        Self {
            host: setup.host,
            agent: setup.agent,
            columns,
            rows,
            theme: setup.theme,
            link: Link::default(),
            feed: 0,
            conversation: Conversation::new(setup.mode),
            scroll: Scroll::Bottom,
            pending: Vec::new(),
            images: Vec::new(),
            draft: Draft::default(),
            drafts: BTreeMap::new(),
            history: History::of(&setup.history),
            menu: Menu::default(),
            known: Known::default(),
            overlays: Vec::new(),
            status: None,
            notice: None,
            now: Timestamp::default(),
            next_ticket: 1,
            asked: BTreeMap::new(),
            status_asked_at: Timestamp::default(),
            status_is_old: false,
            texts_failed_at: None,
            leaving: None,
            has_quit: false,
            token_advice: setup.token_advice,
            key: setup.key,
        }
    }

    /// Returns true once the console is to be closed.
    #[must_use]
    pub const fn has_quit(&self) -> bool {
        self.has_quit
    }

    /// Returns true if the console has to end, whether or not someone can see it.
    #[must_use]
    pub const fn must_leave(&self) -> bool {
        matches!(self.leaving, Some(Departure { must: true, .. }))
    }

    /// Returns what the host has not answered. `is_kept` says if later consoles have a text in their input history.
    #[must_use]
    pub fn open_requests(&self, is_kept: impl Fn(&str) -> bool) -> OpenRequests {
        let open = self.pending.iter().filter(|one| one.message_id.is_none());
        let actions = self.asked.values();
        OpenRequests {
            messages: open
                .map(|pending| OpenMessage {
                    agent: pending.agent.clone(),
                    text: pending.text.clone(),
                    is_kept: is_kept(&pending.text),
                })
                .collect(),
            commands: actions.filter(|one| **one == Purpose::Action).count(),
        }
    }

    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_bad: false,
            when_back: WhenBack::Stays,
        });
    }

    pub(crate) fn complain(&mut self, text: impl Into<String>) {
        self.complain_until(text, WhenBack::Stays);
    }

    /// Complains of something that may be over when the host answers again.
    pub(crate) fn complain_until(&mut self, text: impl Into<String>, when_back: WhenBack) {
        self.notice = Some(Notice {
            text: text.into(),
            is_bad: true,
            when_back,
        });
    }

    /// Complains of a request that failed.
    pub(crate) fn complain_of(&mut self, problem: Problem) {
        let when_back = if problem.is_link() {
            WhenBack::Goes
        } else {
            WhenBack::Stays
        };
        self.complain_until(problem.message, when_back);
    }

    /// Takes back what was said about the host being away.
    pub(crate) fn host_is_back(&mut self) {
        let Some(notice) = &mut self.notice else {
            return;
        };
        match std::mem::replace(&mut notice.when_back, WhenBack::Stays) {
            WhenBack::Stays => {}
            WhenBack::Goes => self.notice = None,
            WhenBack::Becomes(text) => notice.text = text,
        }
    }

    pub(crate) fn overlay(&mut self) -> Option<&mut Overlay> {
        self.overlays.last_mut()
    }

    /// Returns true if a request for this purpose is under way.
    pub(crate) fn is_asked(&self, purpose: &Purpose) -> bool {
        self.asked.values().any(|asked| asked == purpose)
    }
}
