//! What every operation of an administrator can do.

use platform::Platform;
use serde_json::Value;

use crate::failure::Failure;

/// An operation of an administrator.
pub(super) trait Operate {
    /// Does it; answers what `--json` prints.
    async fn operate(self, platform: &Platform) -> Result<Value, Failure>;
}
