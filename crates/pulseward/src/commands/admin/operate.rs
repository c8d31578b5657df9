//! What every operation of an administrator can do.

use platform::Platform;
use serde_json::Value;

use crate::failure::Failure;
use crate::wiring::LostKey;

/// An operation of an administrator.
pub(super) trait Operate {
    /// What it does about a master key that is lost.
    fn lost_key(&self) -> LostKey {
        LostKey::Refused
    }

    /// Does it; answers what `--json` prints.
    async fn operate(self, platform: &Platform) -> Result<Value, Failure>;
}
