//! Where sealed segments and archives lie: a folder, or an S3-compatible store, behind one trait.

mod read;
mod s3;
mod sign;
mod store;
mod sweep;
mod upload;

pub(crate) use read::hexadecimal;
pub use read::{ByteRange, ObjectRead};
pub use s3::S3Address;
pub use store::{ListedObject, Objects};
pub use upload::Upload;
