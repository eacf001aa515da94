-- The newest event of a removed agent. Another agent of the same name numbers its events from there on, so a cursor
-- belongs to one of them only. 0 for agents that an earlier build removed.
ALTER TABLE tombstones ADD COLUMN newest_event INTEGER NOT NULL DEFAULT 0;
-- Removals of agents in the order of the rows of `events`: both tables share one series of numbers, in which no number is
-- given out twice. `agent_id` is absent for an agent that callers did not know.
CREATE TABLE removals (
    row_no INTEGER PRIMARY KEY,
    agent_id TEXT,
    newest_event INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;
-- The first generation of an agent. No other agent of the host has it, so it tells apart two agents of one name. 0 for
-- agents that an earlier build created.
ALTER TABLE agents ADD COLUMN birth INTEGER NOT NULL DEFAULT 0;
-- Birth of the agent that the request was about. Absent if it was about none, and in rows of earlier builds.
ALTER TABLE kept_replies ADD COLUMN birth INTEGER;
