//! The size that is drawn: that of the terminal, within bounds.

/// Most columns and rows that are drawn. A terminal states any number, and each cell takes memory.
const MOST: (u16, u16) = (1_000, 500);
/// Columns and rows of a terminal that does not state them, such as a serial line.
const USUAL: (u16, u16) = (80, 24);

/// Returns the columns and rows that are drawn on a terminal that states these.
pub(crate) const fn drawn(columns: u16, rows: u16) -> (u16, u16) {
    const fn bounded(stated: u16, usual: u16, most: u16) -> u16 {
        match stated {
            0 => usual,
            stated if stated > most => most,
            stated => stated,
        }
    }
    (
        bounded(columns, USUAL.0, MOST.0),
        bounded(rows, USUAL.1, MOST.1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_stated_size_becomes_one_that_can_be_drawn() {
        for (stated, expected) in [
            ((80, 24), (80, 24)),
            ((1, 1), (1, 1)),
            ((0, 0), (80, 24)),
            ((120, 0), (120, 24)),
            ((1_000, 500), (1_000, 500)),
            ((1_001, 501), (1_000, 500)),
            ((u16::MAX, u16::MAX), (1_000, 500)),
        ] {
            assert_eq!(drawn(stated.0, stated.1), expected, "{stated:?}");
        }
    }
}
