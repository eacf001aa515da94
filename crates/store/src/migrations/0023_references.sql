-- The newest entry of the log that names a text, within a few entries (`blobs`). NULL in rows of earlier builds. The
-- table has a row for each distinct text of an agent, so it is small.
ALTER TABLE blob_refs ADD COLUMN newest INTEGER;
CREATE INDEX blob_refs_by_use ON blob_refs (agent_no, newest);

-- Commands whose output files entries of the log name, each with the newest of these entries.
CREATE TABLE output_refs (
    agent_no INTEGER NOT NULL,
    name TEXT NOT NULL,
    newest INTEGER NOT NULL,
    PRIMARY KEY (agent_no, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX output_refs_by_use ON output_refs (agent_no, newest);
