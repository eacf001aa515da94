//! Ids and seals that a server issues, and the checks of those that clients send back.
//!
//! A seal is valid for one provider and one model. Each id contains the port of its server, and each seal the model as
//! well, so one that is sent elsewhere is detected.

/// Prefix of every id that a test server issues.
const MARK: &str = "fk";

/// Issues the ids of one answer.
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

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Id of the answer.
    pub(super) fn response(&self) -> String {
        format!("{MARK}{}_r{}", self.port, self.round)
    }

    /// Id of an output item.
    pub(super) fn item(&self, place: usize) -> String {
        format!("{MARK}{}_i{}_{place}", self.port, self.round)
    }

    /// Id of a call.
    pub(super) fn call(&self, place: usize) -> String {
        format!("{MARK}{}_c{}_{place}", self.port, self.round)
    }

    /// Sealed form of a reasoning item.
    pub(super) fn seal(&self, place: usize) -> String {
        format!("{}{}_{place}", self.seal_start(), self.round)
    }

    /// Returns true if an id is this server's, or not of any test server.
    pub(super) fn may_see(&self, id: &str) -> bool {
        !id.starts_with(MARK) || id.starts_with(&format!("{MARK}{}_", self.port))
    }

    /// Returns true if this server issued the id.
    pub(super) fn gave(&self, id: &str) -> bool {
        id.starts_with(&format!("{MARK}{}_", self.port))
    }

    /// Returns true if this server issued the seal for this model.
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
