//! One provider attempt; for now the scripted provider.
