//! SQLite: schema, migrations, the one writer, readers, effects.
