-- Deliveries to operators, and the targets of the host. `lane` is the route of a delivery and `seq` its position there.
-- `record` never changes; `outcome` is set when the delivery has ended. `status`: 0 pending, 1 accepted, 2 given up.
CREATE TABLE deliveries (
    agent_no INTEGER NOT NULL,
    lane TEXT NOT NULL,
    seq INTEGER NOT NULL,
    status INTEGER NOT NULL,
    record TEXT NOT NULL,
    outcome TEXT,
    PRIMARY KEY (agent_no, lane, seq)
) STRICT, WITHOUT ROWID;
-- What is outstanding on the whole host, by route.
CREATE INDEX deliveries_pending ON deliveries (lane, agent_no, seq) WHERE status = 0;
-- What was given up lately, by route.
CREATE INDEX deliveries_given_up ON deliveries (lane, agent_no, seq) WHERE status = 2;

-- Whether a route ever delivered anything.
CREATE INDEX deliveries_accepted ON deliveries (lane, agent_no) WHERE status = 1;

CREATE TABLE delivery_targets (
    name TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
