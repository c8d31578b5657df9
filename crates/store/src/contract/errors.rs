//! What a failing statement is reported as: a fault of ours is never taken for a store that is away.

use super::{Stores, on_both_engines};
use crate::error::{Result, StoreError};

on_both_engines! {
    a_value_that_does_not_fit_is_not_a_store_that_is_away
}

async fn a_value_that_does_not_fit_is_not_a_store_that_is_away(stores: Stores) {
    const LOOK_UP: &str = "SELECT uuid FROM patient WHERE uuid = $1";
    let number_for_a_text =
        stores.health.db.read(async |tx| tx.query_opt(LOOK_UP, &[&5_i64], |row| row.get::<String>(0)).await);
    let nul_in_a_text =
        stores.health.db.read(async |tx| tx.query_opt(LOOK_UP, &[&"a\0b"], |row| row.get::<String>(0)).await);
    let no_such_column =
        stores.health.db.read(async |tx| tx.query_opt("SELECT nothing FROM patient", &[], |_| Ok(String::new())).await);
    let text_for_a_number = stores
        .health
        .db
        .read(async |tx| tx.query_opt("SELECT 'a' || 'b'", &[], |row| row.get::<i64>(0).map(|_| String::new())).await);
    let answers: [Result<Option<String>>; 4] =
        [number_for_a_text.await, nul_in_a_text.await, no_such_column.await, text_for_a_number.await];
    for (at, answer) in answers.iter().enumerate() {
        let is_ours = matches!(answer, Ok(None) | Err(StoreError::Database(_) | StoreError::Damaged(_)));
        assert!(is_ours, "{at}: {answer:?}");
    }
    assert!(answers[2..].iter().all(Result::is_err), "{answers:?}");
}
