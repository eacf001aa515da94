//! Ids and seals a server gives out, and how it knows its own when they come back.
//!
//! What a provider sealed for a model is for that provider and that model only, so each id carries the port of its
//! server and each seal the model as well: one that turns up elsewhere gives itself away.

/// How every id of any such server begins.
const MARK: &str = "fk";

/// Gives out the ids of one answer.
#[derive(Debug, Clone)]
pub(super) struct Mint {
    port: u16,
    round: usize,
    model: String,
}

impl Mint {
    pub(super) fn new(port: u16, round: usize, model: &str) -> Self {
        Self {
            port,
            round,
            model: model.to_owned(),
        }
    }

    /// The model that answers.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// The id of the answer.
    pub(super) fn response(&self) -> String {
        format!("{MARK}{}_r{}", self.port, self.round)
    }

    /// The id of a part of it.
    pub(super) fn item(&self, place: usize) -> String {
        format!("{MARK}{}_i{}_{place}", self.port, self.round)
    }

    /// The id of a call.
    pub(super) fn call(&self, place: usize) -> String {
        format!("{MARK}{}_c{}_{place}", self.port, self.round)
    }

    /// The sealed form of a thought.
    pub(super) fn seal(&self, place: usize) -> String {
        format!("{}{}_{place}", self.seal_start(), self.round)
    }

    /// Whether an id is this server's, or none of any such server's.
    pub(super) fn may_see(&self, id: &str) -> bool {
        !id.starts_with(MARK) || id.starts_with(&format!("{MARK}{}_", self.port))
    }

    /// Whether this server gave out the id.
    pub(super) fn gave(&self, id: &str) -> bool {
        id.starts_with(&format!("{MARK}{}_", self.port))
    }

    /// Whether this server sealed this for this model.
    pub(super) fn sealed(&self, seal: &str) -> bool {
        seal.starts_with(&self.seal_start())
    }

    fn seal_start(&self) -> String {
        format!("seal-{}-{}-", self.port, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mint_knows_its_own_and_those_of_another_server() {
        let mint = Mint::new(4_000, 2, "small");
        assert!(mint.gave(&mint.call(1)) && mint.may_see(&mint.call(1)));
        let other = Mint::new(40, 2, "small");
        assert!(!mint.gave(&other.call(1)) && !mint.may_see(&other.call(1)));
        assert!(mint.may_see("call_of_the_runtime"));
        assert!(mint.sealed(&Mint::new(4_000, 9, "small").seal(0)));
        assert!(!mint.sealed(&Mint::new(4_000, 2, "large").seal(0)));
        assert!(!mint.sealed(&other.seal(0)));
    }
}
