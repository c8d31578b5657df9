//! Every SQL text is understood by both engines.

use super::{Stores, on_both_engines};

on_both_engines! { every_text_is_understood }

async fn every_text_is_understood(stores: Stores) {
    for text in crate::users::all_texts() {
        stores.users.db.prepare(text).await.unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    for text in crate::health::all_texts() {
        stores.health.db.prepare(text).await.unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}
