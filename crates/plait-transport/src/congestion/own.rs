//! Controllers that a caller brings, beside those of the list.

use super::{CongestionConfig, CongestionController};
use std::fmt::Debug;
use std::sync::Arc;

/// Builds controllers.
pub trait Factory: Debug + Send + Sync {
    /// The controller of one path at its start.
    fn build(&self, config: &CongestionConfig) -> Box<dyn OwnController>;
}

/// A controller that a factory builds; every controller with `Clone` is one.
pub trait OwnController: CongestionController {
    /// A copy with the same state, for a copy of the endpoint.
    fn copied(&self) -> Box<dyn OwnController>;
}

impl<T: CongestionController + Clone + 'static> OwnController for T {
    fn copied(&self) -> Box<dyn OwnController> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn OwnController> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// A caller's factory, which all paths and copies of a configuration share.
#[derive(Clone, Debug)]
pub struct Own(pub Arc<dyn Factory>);

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Own {}
