//! Where sealed segments and archives lie: a folder, or an S3-compatible store, behind one trait.

mod checkpoints;
mod deadlines;
mod identity;
mod mark;
mod read;
mod s3;
mod sign;
mod silence;
mod store;
mod sweep;
mod upload;

pub use checkpoints::{CHECKPOINTS, LARGEST_CHECKPOINT, checkpoint_path, number_of_checkpoint};
pub use identity::STORE_ID;
pub(crate) use read::hexadecimal;
pub use read::{ByteRange, Digest, ObjectRead};
pub use s3::S3Address;
pub use store::{ListedObject, Objects};
pub use upload::Upload;
