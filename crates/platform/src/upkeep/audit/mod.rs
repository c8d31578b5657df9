//! The audit log as a whole: its seal, signed checkpoints of it, and whether it is what was written.

pub(crate) mod checkpoint;
pub(crate) mod judge;
pub(crate) mod last_signed;
pub(crate) mod newest;
pub(crate) mod restored;
pub(crate) mod seal;
pub(crate) mod signed;
pub(crate) mod verify;
pub(crate) mod write;
