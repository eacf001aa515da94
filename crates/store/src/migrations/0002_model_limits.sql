-- What providers' errors taught about models, for the whole host.
CREATE TABLE model_limits (
    model_ref TEXT PRIMARY KEY,
    context_window_tokens INTEGER,
    max_output_tokens INTEGER
) STRICT, WITHOUT ROWID;
