//! The port to operators outside of the host, and the secrets of their destinations.

use async_trait::async_trait;
use holon_domain::delivery::{DeliveryTarget, Submission, SubmitResult};
use holon_domain::operator_transport::OperatorTransportBinding;

/// Destination of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    Target(DeliveryTarget),
    Binding(Box<OperatorTransportBinding>),
}

/// One attempt of a delivery: its result, and for people what was sent and what came back. Neither text holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitReport {
    pub result: SubmitResult,
    pub sent: String,
    pub received: String,
}

/// Brings briefs and notifications to operators outside of the host.
#[async_trait]
pub trait OutboundHost: Send + Sync + std::fmt::Debug {
    /// Makes one attempt. Returns within `limits::DELIVERY_ATTEMPT_MS` and a little.
    async fn submit(&self, destination: &Destination, delivery: &Submission) -> SubmitReport;

    /// Stores the secret of a destination under this name, replacing an earlier one.
    ///
    /// # Errors
    /// The reason for which the credential store took none.
    async fn keep_secret(&self, profile: &str, secret: &str) -> Result<(), String>;

    /// Removes the secret of a destination, if there is one.
    ///
    /// # Errors
    /// The reason for which the credential store could not be changed.
    async fn forget_secret(&self, profile: &str) -> Result<(), String>;

    /// Removes every secret whose name begins so, except the kept ones.
    ///
    /// # Errors
    /// The reason for which the credential store could not be changed.
    async fn forget_secrets(&self, prefix: &str, kept: &[String]) -> Result<(), String>;

    /// Returns true if a secret is stored under this name.
    ///
    /// # Errors
    /// The reason for which the credential store could not be read.
    async fn has_secret(&self, profile: &str) -> Result<bool, String>;
}

/// A host that reaches no operator outside. Every attempt fails and is tried again.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOutbound;

#[async_trait]
impl OutboundHost for NoOutbound {
    async fn submit(&self, _: &Destination, _: &Submission) -> SubmitReport {
        SubmitReport {
            result: SubmitResult::Retry {
                error: "this host delivers nothing".to_owned(),
                retry_after_ms: None,
            },
            sent: String::new(),
            received: String::new(),
        }
    }

    async fn keep_secret(&self, _: &str, _: &str) -> Result<(), String> {
        Err("this host keeps no secrets".to_owned())
    }

    async fn forget_secret(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    async fn forget_secrets(&self, _: &str, _: &[String]) -> Result<(), String> {
        Ok(())
    }

    async fn has_secret(&self, _: &str) -> Result<bool, String> {
        Ok(false)
    }
}
