-- The queued messages that may enter a running turn, in the order they are taken, so that a request finds them without
-- walking the queue. A table of its own: an index on `messages` would have to be built from every message there ever
-- was, and a start does constant-time DDL only.
CREATE TABLE interjections (
    agent_no INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (agent_no, priority, seq)
) STRICT, WITHOUT ROWID;
-- Whether the table above lists the agent's messages. NULL for agents of earlier builds until their first write, which
-- lists what is queued then.
ALTER TABLE agents ADD COLUMN interjections_listed INTEGER;
