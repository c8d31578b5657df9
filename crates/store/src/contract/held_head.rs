//! A transaction that holds the head of the audit log for as long as a test wants.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Stores;
use crate::engine::Tx;
use crate::error::Result;

// Locked and not changed: PostgreSQL lets those who wait for a changed row go on in any order.
const HOLD: &str = "SELECT number FROM audit_head /*postgres FOR UPDATE postgres*/";

/// The head, until it is released. On SQLite the one writer is held with it.
pub(super) struct HeldHead {
    go_on: mpsc::Sender<()>,
    holding: JoinHandle<Result<()>>,
}

impl HeldHead {
    /// Holds the head; answers once it is held.
    #[allow(clippy::disallowed_methods, reason = "the writer is held up on purpose")]
    pub async fn of(stores: &Stores) -> Self {
        let (held, mut is_held) = mpsc::channel(1);
        let (go_on, mut may_go_on) = mpsc::channel::<()>(1);
        let users = stores.users.clone();
        let holding = tokio::spawn(async move {
            let can_wait = !users.db.is_sqlite();
            let hold = async move |tx: &Tx<'_>| {
                tx.query_opt(HOLD, &[], |row| row.get::<i64>(0)).await?;
                held.try_send(()).expect("the test listens");
                // SQLite's writer is a thread, on which nothing can be awaited.
                let _ = if can_wait { may_go_on.recv().await } else { may_go_on.blocking_recv() };
                Ok(())
            };
            users.db.write(hold).await
        });
        let Some(()) = is_held.recv().await else { panic!("the head cannot be held: {:?}", holding.await) };
        HeldHead { go_on, holding }
    }

    /// Returns whether it is held still.
    pub fn is_held(&self) -> bool {
        !self.holding.is_finished()
    }

    /// Releases it.
    pub async fn release(self) {
        self.go_on.send(()).await.expect("held");
        self.holding.await.expect("joined").expect("held");
    }
}
