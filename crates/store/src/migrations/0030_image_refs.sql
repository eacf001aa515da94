-- Images that messages name, one row for each message and image. Messages of earlier builds name none.
CREATE TABLE image_refs (
    agent_no INTEGER NOT NULL,
    message_seq INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (agent_no, message_seq, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_refs_of_image ON image_refs (digest);
