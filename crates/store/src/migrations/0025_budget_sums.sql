-- Running sums for the check of budgets: what a day has used, and what open calls have reserved.
CREATE TABLE day_meters (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    day TEXT NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_micro_usd INTEGER NOT NULL,
    unpriced_calls INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE reserved (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- A sum below zero is damaged and stays so until its last call ends: meanwhile readers count the calls.
CREATE TRIGGER reservation_made AFTER INSERT ON reservations BEGIN
    INSERT INTO reserved (scope, key, calls, tokens, micro_usd, unpriced)
    VALUES ('agent', new.agent_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('tree', new.root_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('item', new.item_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('host', '', 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0)
    ON CONFLICT (scope, key) DO UPDATE SET calls = calls + 1,
        tokens = tokens + iif(tokens < 0, 0, excluded.tokens),
        micro_usd = micro_usd + iif(micro_usd < 0, 0, excluded.micro_usd),
        unpriced = unpriced + iif(unpriced < 0, 0, excluded.unpriced);
END;

CREATE TRIGGER reservation_released AFTER DELETE ON reservations BEGIN
    UPDATE reserved SET calls = calls - 1,
        tokens = tokens - iif(tokens < 0, 0, old.tokens),
        micro_usd = micro_usd - iif(micro_usd < 0, 0, max(old.micro_usd, 0)),
        unpriced = unpriced - iif(unpriced < 0, 0, old.micro_usd < 0)
    WHERE (scope, key) IN (VALUES ('agent', old.agent_id), ('tree', old.root_id), ('item', old.item_id), ('host', ''));
    DELETE FROM reserved
    WHERE (scope, key) IN (VALUES ('agent', old.agent_id), ('tree', old.root_id), ('item', old.item_id), ('host', ''))
        AND calls <= 0;
END;

-- One row for each open call: there are as many as agents that wait for a model at this moment. Earlier builds stored any
-- number; no sum of these overflows.
UPDATE reservations SET tokens = min(max(tokens, 0), 4398046511104), micro_usd = min(max(micro_usd, -1), 4398046511104);
INSERT INTO reserved (scope, key, calls, tokens, micro_usd, unpriced)
SELECT 'agent', agent_id, count(*), sum(tokens), sum(max(micro_usd, 0)), sum(micro_usd < 0) FROM reservations GROUP BY agent_id
UNION ALL
SELECT 'tree', root_id, count(*), sum(tokens), sum(max(micro_usd, 0)), sum(micro_usd < 0) FROM reservations GROUP BY root_id
UNION ALL
SELECT 'item', item_id, count(*), sum(tokens), sum(max(micro_usd, 0)), sum(micro_usd < 0) FROM reservations GROUP BY item_id
UNION ALL
SELECT 'host', '', count(*), sum(tokens), sum(max(micro_usd, 0)), sum(micro_usd < 0) FROM reservations HAVING count(*) > 0;
