//! What a transcript may hold, and what becomes of it.
