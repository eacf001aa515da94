-- External trigger capabilities of agents. No token is stored: it is derived from a key of the host, the id and the
-- generation in the record.
CREATE TABLE external_triggers (
    trigger_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    trigger_id TEXT NOT NULL,
    active INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;
-- A delivery finds its capability by the id that its token names.
CREATE UNIQUE INDEX external_triggers_by_id ON external_triggers (trigger_id);
CREATE INDEX external_triggers_of_agent ON external_triggers (agent_no, trigger_no);
