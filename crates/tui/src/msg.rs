//! What comes in and what goes out: messages, commands, requests and replies. Nothing here does anything.

use holon_api::{BudgetsResponse, EventEnvelope, SkillsResponse, UsageResponse};
use holon_client::Answer;
use holon_client::view::{
    Agent, AgentListEntry, Brief, Context, Explanation, ListedTask, Models, Prompt, TaskOutput,
    Timer, TranscriptEntry, Trigger, Wait, WorkItem,
};
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::image::SentImage;
use holon_domain::time::Timestamp;
use ratatui::crossterm::event::KeyEvent;

/// Something that happened. `update` is the only reader.
#[derive(Debug)]
pub enum Msg {
    Key(KeyEvent),
    Paste(String),
    Resize {
        columns: u16,
        rows: u16,
    },
    /// Passes once in a while, with the time of the wall.
    Tick(Timestamp),
    /// News of the feed with this number. News of an older feed is ignored.
    Feed {
        feed: u64,
        news: News,
    },
    /// Reply to the request with this ticket.
    Reply {
        ticket: u64,
        reply: Result<Reply, Problem>,
    },
    /// The console cannot be suspended: no shell would continue it.
    NotSuspended,
    /// The program is asked to end, by a signal.
    Quit,
}

/// What the feed of one agent brings.
#[derive(Debug)]
pub enum News {
    /// Events before the stream, oldest first. Everything that was shown before is replaced.
    History {
        events: Vec<EventEnvelope>,
        /// True if the host has events before these.
        has_older: bool,
    },
    Event(Box<EventEnvelope>),
    Delta(AssistantDelta),
    /// The connection is lost; the feed tries again.
    Lost(String),
    /// The connection is there again.
    Back,
    /// The feed has ended for good: the agent is gone, or the host refuses.
    Ended(String),
    /// The host does not accept the token any more.
    Unauthorized(String),
}

/// Something that the runtime does for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Follow the events of an agent in place of those of another.
    Follow {
        feed: u64,
        agent: AgentId,
    },
    /// Ask the host. Exactly one reply with the same ticket comes back.
    Ask {
        ticket: u64,
        request: Request,
    },
    /// Keep an entry of the input history over restarts.
    Remember {
        text: String,
    },
    /// Draw all of the next frame on an empty terminal.
    Redraw,
    /// Give the terminal back and stop until the shell continues the console.
    Suspend,
    Quit,
}

/// A request to the host about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub agent: AgentId,
    pub question: Question,
    /// How a message is sent. Absent for all other requests.
    pub sending: Option<Sending>,
}

/// How a message is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// Key under which the message is stored once, however often it is sent.
    pub key: String,
    /// True if it was sent before and may be stored.
    pub is_again: bool,
}

/// One request of the client. Reads change nothing; the rest is what an operator may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    Status,
    Explain,
    Agents,
    /// Briefs up to this one, by its position among the briefs.
    Briefs {
        up_to: u64,
    },
    Transcript,
    /// The part of the transcript in which a turn begins, for the texts of messages.
    Messages {
        turn: u64,
    },
    /// Events before a position.
    Older {
        before_seq: u64,
    },
    Tasks,
    TaskOutput {
        task: String,
        after_byte: u64,
        stderr_after_byte: u64,
    },
    WorkItems,
    WorkItem {
        id: String,
    },
    Timers,
    Triggers,
    Models,
    Skills,
    Context,
    DebugPrompt,
    /// Usage of all agents, by each grouping.
    Usage,
    Budgets,
    Send {
        text: String,
        images: Vec<SentImage>,
    },
    UploadImage {
        /// Path of the file on this machine.
        path: String,
    },
    TaskInput {
        task: String,
        input: String,
    },
    StopTask {
        task: String,
    },
    CompleteWorkItem {
        id: String,
    },
    ResumeWorkItem {
        id: String,
    },
    CreateWorkItem {
        objective: String,
    },
    CancelTimer {
        id: String,
    },
    CancelWait {
        id: String,
    },
    CreateTrigger {
        /// True if deliveries become messages; otherwise they only wake the agent.
        enqueues: bool,
    },
    RevealTrigger {
        id: String,
    },
    RotateTrigger {
        id: String,
    },
    RevokeTrigger {
        id: String,
    },
    AttachWorkspace {
        path: String,
    },
    UseWorkspace {
        id: String,
        isolated: bool,
    },
    ExitWorkspace,
    DetachWorkspace {
        id: String,
    },
    SetModel {
        model: String,
        /// Absent: the effort of the provider's setting.
        effort: Option<String>,
    },
    ClearModel,
    InstallSkill {
        name_or_path: String,
    },
    UninstallSkill {
        name: String,
    },
    PinTurn {
        turn: u64,
    },
    UnpinTurn {
        turn: u64,
    },
    FoldContext,
    ClearContext,
    CreateAgent,
    StartAgent,
    StopAgent,
    Abort,
    Wake {
        reason: String,
    },
}

/// A reply of the host.
#[derive(Debug)]
pub enum Reply {
    Status(Box<Answer<Agent>>),
    Explained(Box<Answer<Explanation>>),
    Agents(Vec<Answer<AgentListEntry>>),
    Briefs(Vec<Answer<Brief>>),
    Transcript(Vec<Answer<TranscriptEntry>>),
    /// Events before those that are kept, in ascending order.
    Older {
        events: Vec<EventEnvelope>,
        has_older: bool,
    },
    Tasks(Vec<Answer<ListedTask>>),
    TaskOutput(Box<Answer<TaskOutput>>),
    WorkItems(Vec<WorkItem>),
    WorkItem(Box<Answer<WorkItem>>),
    Timers {
        timers: Vec<Answer<Timer>>,
        waits: Vec<Answer<Wait>>,
    },
    Triggers(Vec<Answer<Trigger>>),
    /// The secret URL of a trigger. It is shown and kept nowhere else.
    TriggerUrl {
        id: String,
        url: String,
    },
    Models(Box<Answer<Models>>),
    Skills(Box<SkillsResponse>),
    Context(Box<Answer<Context>>),
    DebugPrompt(Box<Answer<Prompt>>),
    Usage(Vec<UsageResponse>),
    Budgets(Box<BudgetsResponse>),
    /// A message is stored under this id.
    Sent {
        message_id: String,
    },
    /// An image is uploaded.
    ImageKept(SentImage),
    /// Something was done, in a sentence.
    Done(String),
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problem {
    /// What happened and what to do next, for people.
    pub message: String,
    pub cause: Cause,
}

/// Why a request failed, as far as it matters for what is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cause {
    /// The host refuses what is asked for.
    #[default]
    Refused,
    /// There is no host. The request was not sent.
    Unreachable,
    /// The request was sent and had no answer.
    Unanswered,
    /// The answer does not say if it was done.
    Unclear,
    /// The host refuses for now.
    Busy,
    /// The host does not accept the token.
    Unauthorized,
}

impl Problem {
    /// Returns true if the host did not answer at all.
    pub(crate) const fn is_link(&self) -> bool {
        matches!(self.cause, Cause::Unreachable | Cause::Unanswered)
    }

    /// Returns true if what was asked for may have been done.
    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self.cause, Cause::Unanswered | Cause::Unclear)
    }
}
