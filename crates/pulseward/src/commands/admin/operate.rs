//! What every operation of an administrator can do.

use platform::Platform;
use serde_json::Value;

use crate::failure::Failure;
use crate::wiring::Expected;

/// An operation of an administrator.
pub(super) trait Operate {
    /// Returns what it expects of the stores.
    fn expected(&self) -> Expected {
        Expected::Databases
    }

    /// Does it; answers what `--json` prints.
    async fn operate(self, platform: &Platform) -> Result<Value, Failure>;
}
