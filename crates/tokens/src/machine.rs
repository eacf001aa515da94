//! The machine that walks over the pieces of a text: what it has seen of a piece, and what the next character costs.
//!
//! [`step`] defines it. The shared table holds each step of each state that can be reached, so that a character takes
//! one lookup.

use super::class::Class;
use super::cost::{self, Cost, LETTERS, Prefix, TOKEN};
use std::sync::LazyLock;

/// What the machine has seen of the current piece. The cost of a character is due when its piece is known: a space
/// belongs to the word behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// Spaces and tabs. The cost of all but the last is paid.
    Blanks {
        number: u8,
        ends_in_space: bool,
    },
    /// Line ends, alone or behind the marks that take them in.
    LineEnds(u8),
    /// One mark that belongs to the word behind it, if there is one. Its cost is due.
    OpenMark(Prefix),
    /// An apostrophe behind a word. Its cost is due.
    Apostrophe,
    /// The letters of a contraction, up to three.
    Contraction(u8),
    /// Marks, of which up to two are counted.
    Marks(u8),
    /// Digits of a group.
    Digits(u8),
    /// Small ASCII letters, the first may be a capital.
    Small(Prefix, u8),
    Capitals(Prefix, u8),
    /// A word whose last letter is beyond ASCII.
    Letters {
        last: Class,
        is_spaced: bool,
        number: u8,
    },
}

/// Returns the state after a character, and the cost that is due.
fn step(state: State, class: Class) -> (State, Cost) {
    if let Some(extended) = extend(state, class) {
        return extended;
    }
    let (due, prefix) = leave(state, class);
    let (next, cost) = enter(prefix, class);
    (next, due + cost)
}

/// Adds a character to the piece, if it belongs to it.
fn extend(state: State, class: Class) -> Option<(State, Cost)> {
    match state {
        State::Start => None,
        State::Blanks { number, .. } => match class {
            Class::Space | Class::Blank => {
                let next = State::Blanks {
                    number: (number + 1).min(cost::BLANKS),
                    ends_in_space: class == Class::Space,
                };
                Some((next, cost::next_blank(number)))
            }
            _ => None,
        },
        State::LineEnds(number) => (class == Class::LineEnd).then(|| {
            let next = State::LineEnds((number + 1).min(cost::LINE_ENDS));
            (next, cost::next_line_end(number))
        }),
        State::OpenMark(_) | State::Apostrophe if class.is_mark() => {
            Some((State::Marks(2), TOKEN + cost::next_mark(class, 1)))
        }
        State::OpenMark(_) | State::Apostrophe if class == Class::LineEnd => {
            Some((State::LineEnds(1), TOKEN))
        }
        State::OpenMark(_) => None,
        State::Apostrophe => {
            (class == Class::Small).then_some((State::Contraction(1), cost::CONTRACTION))
        }
        State::Contraction(letters) => (class == Class::Small).then_some(match letters {
            1 => (State::Contraction(2), cost::CONTRACTION),
            // No contraction after all: the mark and the letters are a piece.
            _ => (State::Small(Prefix::Mark, 3), TOKEN),
        }),
        State::Marks(number) if class.is_mark() => {
            let next = State::Marks((number + 1).min(2));
            Some((next, cost::next_mark(class, number)))
        }
        State::Marks(_) => (class == Class::LineEnd).then_some((State::LineEnds(1), 0)),
        State::Digits(number) => {
            (class == Class::Digit && number < 3).then_some((State::Digits(number + 1), 0))
        }
        State::Small(..) | State::Capitals(..) | State::Letters { .. } => extend_word(state, class),
    }
}

fn extend_word(state: State, class: Class) -> Option<(State, Cost)> {
    let ascii = |prefix, letters: u8| {
        let number = letters.saturating_add(1);
        (
            number.min(LETTERS),
            cost::ascii_letter(class, prefix, number),
        )
    };
    match (state, class) {
        (State::Small(prefix, letters), Class::Small) => {
            let (letters, cost) = ascii(prefix, letters);
            Some((State::Small(prefix, letters), cost))
        }
        (State::Capitals(prefix, 1), Class::Small) => {
            let (letters, cost) = ascii(prefix, 1);
            Some((State::Small(prefix, letters), cost + 4))
        }
        (State::Capitals(prefix, letters), Class::Capital) => {
            let (letters, cost) = ascii(prefix, letters);
            Some((State::Capitals(prefix, letters), cost))
        }
        (State::Capitals(..), Class::Small) => {
            let word = State::Small(Prefix::None, cost::MIXED_LETTERS);
            Some((word, cost::AFTER_CAPITALS))
        }
        (State::Letters { last, number, .. }, Class::Small) if last.is_latin() => {
            let (letters, cost) = ascii(Prefix::None, number);
            Some((State::Small(Prefix::None, letters), cost))
        }
        (State::Small(..) | State::Capitals(..), Class::Apostrophe) => Some((State::Apostrophe, 0)),
        (State::Small(prefix, number) | State::Capitals(prefix, number), _)
            if class.is_other_letter() =>
        {
            let is_spaced = prefix == Prefix::Space;
            Some(other_letter(Class::Small, is_spaced, number, class))
        }
        (
            State::Letters {
                last,
                is_spaced,
                number,
            },
            _,
        ) if class.is_other_letter() => Some(other_letter(last, is_spaced, number, class)),
        (_, _) => None,
    }
}

fn other_letter(before: Class, is_spaced: bool, number: u8, class: Class) -> (State, Cost) {
    let next = State::Letters {
        last: class,
        is_spaced,
        number: number.saturating_add(1).min(LETTERS),
    };
    (next, cost::next_letter(class, before, number, is_spaced))
}

/// Ends the piece before a character that does not belong to it. Returns what is due, and the prefix that the character
/// finds before it.
fn leave(state: State, next: Class) -> (Cost, Prefix) {
    let is_letter = next.is_ascii_letter() || next.is_other_letter();
    match state {
        State::Blanks { ends_in_space, .. } => match next {
            // The line end takes them in.
            Class::LineEnd => (0, Prefix::None),
            _ if is_letter && !ends_in_space => (0, Prefix::Mark),
            _ if is_letter || (next.is_mark() && ends_in_space) => (0, Prefix::Space),
            _ => (TOKEN, Prefix::None),
        },
        State::OpenMark(prefix) if is_letter => (0, prefix),
        State::OpenMark(_) => (TOKEN, Prefix::None),
        State::Apostrophe if is_letter => (0, Prefix::Mark),
        State::Apostrophe => (TOKEN, Prefix::None),
        State::Start
        | State::LineEnds(_)
        | State::Contraction(_)
        | State::Marks(_)
        | State::Digits(_)
        | State::Small(..)
        | State::Capitals(..)
        | State::Letters { .. } => (0, Prefix::None),
    }
}

/// Begins a piece with a character.
fn enter(prefix: Prefix, class: Class) -> (State, Cost) {
    match class {
        Class::Small => (
            State::Small(prefix, 1),
            cost::ascii_letter(class, prefix, 1),
        ),
        Class::Capital => (
            State::Capitals(prefix, 1),
            cost::ascii_letter(class, prefix, 1),
        ),
        Class::Digit => (State::Digits(1), TOKEN),
        Class::Space | Class::Blank => {
            let blanks = State::Blanks {
                number: 1,
                ends_in_space: class == Class::Space,
            };
            (blanks, 0)
        }
        Class::LineEnd => (State::LineEnds(1), TOKEN),
        Class::End => (State::Start, 0),
        Class::Emoji => (State::Marks(1), cost::first_mark(class)),
        _ if class.is_mark() && prefix == Prefix::Space => {
            (State::Marks(1), cost::first_mark(class))
        }
        Class::Mark | Class::Rule | Class::Apostrophe => (State::OpenMark(Prefix::Mark), 0),
        Class::WideMark | Class::Symbol | Class::Drawing => (State::OpenMark(Prefix::WideMark), 0),
        _ => {
            let letters = State::Letters {
                last: class,
                is_spaced: prefix == Prefix::Space,
                number: 1,
            };
            (letters, cost::first_letter(class, prefix))
        }
    }
}

/// One step of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Number of the next state.
    pub(super) next: u16,
    pub(super) cost: Cost,
}

/// Places of a row: the number of classes, rounded up so that a row's start is found by a shift.
const ROW: usize = 32;

/// Every step from every state that can be reached.
#[derive(Debug)]
pub(super) struct Table(Vec<[Step; ROW]>);

impl Table {
    /// Number of the state in which a text begins.
    pub(super) const START: u16 = 0;

    /// Returns the table of this build.
    pub(super) fn shared() -> &'static Self {
        static TABLE: LazyLock<Table> = LazyLock::new(Table::build);
        &TABLE
    }

    /// Walks from the first state to all others.
    fn build() -> Self {
        let mut states = vec![State::Start];
        let mut rows = Vec::new();
        while let Some(state) = states.get(rows.len()).copied() {
            let mut row = [Step { next: 0, cost: 0 }; ROW];
            for (place, class) in row.iter_mut().zip(Class::ALL) {
                let (next, cost) = step(state, class);
                let known = states.iter().position(|known| *known == next);
                let number = known.unwrap_or_else(|| {
                    states.push(next);
                    states.len() - 1
                });
                let next = u16::try_from(number).unwrap_or(Self::START);
                *place = Step { next, cost };
            }
            rows.push(row);
        }
        Self(rows)
    }

    /// Returns the step from a state over a character.
    pub(super) fn step(&self, state: u16, class: Class) -> Step {
        let row = self.0.get(usize::from(state));
        let step = row.and_then(|row| row.get(class as usize));
        // Every number in the table names a row of it.
        step.copied().unwrap_or(Step { next: 0, cost: 0 })
    }
}
