-- Large replies by age. Only the newest are kept (`limits::KEPT_REPLIES_LARGE`).
CREATE INDEX kept_replies_large ON kept_replies (kept_at) WHERE length(reply) > 4096;
