-- The failed attempts of the round an open turn has in hand, numbered in it from 1; none once it is answered or over.
CREATE TABLE attempts (
    agent_no INTEGER NOT NULL,
    n INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (agent_no, n)
) STRICT, WITHOUT ROWID;
