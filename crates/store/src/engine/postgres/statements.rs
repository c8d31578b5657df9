//! How statements reach the server: prepared once on each connection, or without a name.
//!
//! A pooler in transaction mode gives every transaction another connection of the server, on which nothing of an earlier
//! one is prepared, or something else of the same name is. Behind one a statement goes out without a name and with the
//! types of its parameters, which the server reports once for each text: it is prepared for that within a transaction, on
//! one connection of the server, and forgotten there before the transaction ends.
//!
//! A pooler that nobody has named and that was not found at the start shows itself by the first statement that is looked
//! for where it was not prepared. From then on everything goes out without a name.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use deadpool_postgres::Object;
use runtime::HashMap;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, RowStream, Statement};

use crate::engine::row_texts;

/// How the statements of a database are sent. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Statements(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Whether they go out without a name; otherwise they are prepared on each connection.
    is_unnamed: AtomicBool,
    /// Whether a pooler was found after statements had been prepared behind it.
    is_found_late: AtomicBool,
    /// What is known of parameters, by text.
    types: Mutex<HashMap<String, Arc<[Type]>>>,
}

/// A statement whose parameters are known.
pub(super) enum Known {
    /// It is prepared on the connection.
    Prepared(Statement),
    /// Its text goes out each time.
    Unnamed(Cow<'static, str>, Arc<[Type]>),
}

impl Statements {
    /// Statements that are prepared on each connection, or that go out without a name.
    pub fn new(is_prepared: bool) -> Self {
        let is_unnamed = AtomicBool::new(!is_prepared);
        Statements(Arc::new(Shared { is_unnamed, is_found_late: AtomicBool::default(), types: Mutex::default() }))
    }

    /// Returns whether they go out without a name.
    pub fn is_unnamed(&self) -> bool {
        self.0.is_unnamed.load(Ordering::Acquire)
    }

    /// Looks whether an error shows that a pooler gave a statement to a connection of the server on which another one
    /// was prepared, or none; then everything goes out without a name from now on. The statement was not carried out.
    pub fn shows_pooler(&self, error: &Error) -> bool {
        // On a connection of our own a statement is there until we close it, under a name that is given once.
        let proofs = [&SqlState::INVALID_SQL_STATEMENT_NAME, &SqlState::DUPLICATE_PSTATEMENT];
        if !error.code().is_some_and(|code| proofs.contains(&code)) {
            return false;
        }
        if !self.0.is_unnamed.swap(true, Ordering::AcqRel) {
            self.0.is_found_late.store(true, Ordering::Release);
            tracing::warn!(
                "a pooler in transaction mode is between this program and the database, and statements are sent without \
                 names from now on: add prepared_statements=off to the database's address"
            );
        }
        true
    }

    /// Finds out what a statement's parameters are, by a question to the server where nobody has asked it yet.
    pub async fn find(&self, client: &Object, text: &'static str) -> Result<Known, Error> {
        let text = row_texts::of_postgres(text);
        if !self.is_unnamed() {
            return client.prepare_cached(&text).await.map(Known::Prepared);
        }
        let known = self.0.types.lock().unwrap_or_else(PoisonError::into_inner).get(&*text).cloned();
        if let Some(types) = known {
            return Ok(Known::Unnamed(text, types));
        }
        if self.0.is_found_late.load(Ordering::Acquire) {
            // What was prepared before the pooler was found lies there under names that a new process gives again.
            client.batch_execute("DEALLOCATE ALL").await?;
        }
        let prepared = client.prepare(&text).await?;
        let found: Arc<[Type]> = prepared.params().into();
        // It is closed here, in order before whatever comes next, so that the name is free again when another
        // client is given the server's connection.
        drop(prepared);
        let mut types = self.0.types.lock().unwrap_or_else(PoisonError::into_inner);
        types.insert(text.clone().into_owned(), found.clone());
        Ok(Known::Unnamed(text, found))
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
