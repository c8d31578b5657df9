//! Uploads: `POST /v1/sync` and `POST /v1/sync/:type`.

pub mod body;
mod cells;
mod columns;
mod encoding;
