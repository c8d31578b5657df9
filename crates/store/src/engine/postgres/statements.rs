//! How statements reach the server: prepared once on each connection, or without a name.
//!
//! A pooler in transaction mode gives every transaction another connection of the server, on which nothing of an earlier
//! one is prepared, or something else of the same name is. Behind one a statement goes out without a name and with the
//! types of its parameters, which the server reports once for each text: it is prepared for that within a transaction, on
//! one connection of the server, and forgotten there before the transaction ends.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use deadpool_postgres::Object;
use runtime::HashMap;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, RowStream, Statement};

use crate::engine::row_texts;

/// How the statements of a database are sent.
#[derive(Clone, Debug)]
pub(super) enum Statements {
    /// Prepared on each connection.
    Prepared,
    /// Without a name; what is known of parameters, by text.
    Unnamed(Arc<Mutex<HashMap<String, Arc<[Type]>>>>),
}

/// A statement whose parameters are known.
pub(super) enum Known {
    /// It is prepared on the connection.
    Prepared(Statement),
    /// Its text goes out each time.
    Unnamed(Cow<'static, str>, Arc<[Type]>),
}

impl Statements {
    /// Finds out what a statement's parameters are, by a question to the server where nobody has asked it yet.
    pub async fn find(&self, client: &Object, text: &'static str) -> Result<Known, Error> {
        let text = row_texts::of_postgres(text);
        match self {
            Statements::Prepared => client.prepare_cached(&text).await.map(Known::Prepared),
            Statements::Unnamed(types) => {
                let known = types.lock().unwrap_or_else(PoisonError::into_inner).get(&*text).cloned();
                if let Some(types) = known {
                    return Ok(Known::Unnamed(text, types));
                }
                let prepared = client.prepare(&text).await?;
                let found: Arc<[Type]> = prepared.params().into();
                // It is closed here, in order before whatever comes next, so that the name is free again when another
                // client is given the server's connection.
                drop(prepared);
                let mut types = types.lock().unwrap_or_else(PoisonError::into_inner);
                types.insert(text.clone().into_owned(), found.clone());
                Ok(Known::Unnamed(text, found))
            }
        }
    }

    /// Does the same for a text of several rows, whose types are those of the statement of one row, again and again.
    pub async fn find_rows(
        &self,
        client: &Object,
        one: &'static str,
        several: &'static str,
        rows: usize,
    ) -> Result<Known, Error> {
        let of_one = self.find(client, one).await?;
        if rows == 1 {
            return Ok(of_one);
        }
        let repeated = |types: &[Type]| std::iter::repeat_n(types, rows).flatten().cloned().collect::<Vec<_>>();
        match of_one {
            Known::Prepared(of_one) => {
                client.prepare_typed_cached(several, &repeated(of_one.params())).await.map(Known::Prepared)
            }
            Known::Unnamed(_, types) => Ok(Known::Unnamed(several.into(), repeated(&types).into())),
        }
    }
}

impl Known {
    /// Runs the statement; how many rows it touched.
    pub async fn execute<'params>(
        &self,
        client: &Client,
        params: impl ExactSizeIterator<Item = &'params (dyn ToSql + Sync)>,
    ) -> Result<u64, Error> {
        match self {
            Known::Prepared(statement) => client.execute_raw(statement, params).await,
            Known::Unnamed(text, types) => {
                let params: Vec<_> = params.zip(types.iter().cloned()).collect();
                client.execute_typed(text, &params).await
            }
        }
    }

    /// Runs a query.
    pub async fn query<'params>(
        &self,
        client: &Client,
        params: impl ExactSizeIterator<Item = &'params (dyn ToSql + Sync)>,
    ) -> Result<RowStream, Error> {
        match self {
            Known::Prepared(statement) => client.query_raw(statement, params).await,
            Known::Unnamed(text, types) => client.query_typed_raw(text, params.zip(types.iter().cloned())).await,
        }
    }
}
