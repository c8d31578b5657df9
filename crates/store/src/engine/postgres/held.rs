//! A connection that an operation holds, and what becomes of it when the operation is dropped before an answer.

use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, PoolError};
use runtime::Instant;
use tokio_postgres::NoTls;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::lanes::Place;
use super::rules::Rules;
use super::statements::Statements;

/// After how long the server is asked again to end a statement: a request that comes before the statement is lost.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A connection of the pool; nobody else uses it until it is dropped.
pub(in crate::engine) struct Held {
    connection: Object,
    /// How to connect for a request to cancel; none where the connection is not encrypted.
    tls: Option<MakeRustlsConnect>,
    /// Free after the connection is.
    place: Arc<Place>,
}

impl Held {
    /// Makes a connection for the holder of a place. The wait for both is counted, also where it fails.
    pub(super) async fn take(place: &Arc<Place>) -> Result<Self, PoolError> {
        let begun = Instant::now();
        let pool = place.pool();
        let got = pool.connection().await;
        pool.add_wait(place.take_waited() + begun.elapsed());
        Ok(Held { connection: got?, tls: pool.tls(), place: place.clone() })
    }

    /// Returns how statements are sent on it.
    pub(super) fn statements(&self) -> &Statements {
        &self.place.rules().statements
    }

    /// Asks the server to end what runs on the connection, until the connection has answered everything.
    async fn stop(&self) {
        let token = self.connection.cancel_token();
        // It is answered behind whatever was sent before it, or cancelled in its place.
        let mut answered = pin!(self.connection.simple_query(""));
        while !self.connection.is_closed() {
            // A request that fails leaves the statement to its deadline or to the next request.
            let _ = match self.tls.clone() {
                Some(tls) => token.cancel_query(tls).await,
                None => token.cancel_query(NoTls).await,
            };
            if runtime::timeout(ASK_AGAIN, answered.as_mut()).await.is_ok() {
                return;
            }
        }
    }
}

impl Deref for Held {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.connection
    }
}

/// Ends what runs on a connection for a caller who went away, and then the connection: a request to cancel that arrives
/// late would end somebody else's statement. Its place in the pool stays taken meanwhile, so that neither the next
/// operation queues behind the statement nor the server sees more connections than were allowed.
pub(super) fn give_up(held: Arc<Held>) {
    if tokio::runtime::Handle::try_current().is_err() {
        // The program ends, and all connections with it.
        return;
    }
    drop(runtime::spawn("cancel a statement", async move {
        let Rules { breaker, longest_cancel, .. } = held.place.rules();
        let (breaker, longest_cancel) = (breaker.clone(), *longest_cancel);
        tokio::select! {
            biased;
            // Nobody answers, also to no request to cancel: the connection would be missing when the server is back.
            () = breaker.opened() => {}
            _ = runtime::timeout(longest_cancel, held.stop()) => {}
        }
        // What shared it was dropped together with the caller.
        drop(Arc::into_inner(held).map(|held| Object::take(held.connection)));
    }));
}
