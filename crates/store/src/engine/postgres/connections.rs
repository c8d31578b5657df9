//! Connections of the server on lanes, and the threads that drive them.

use std::sync::Arc;

use deadpool_postgres::{HookError, Manager, ManagerConfig, PoolError, RecyclingMethod};
use futures::future::LocalBoxFuture;
use runtime::Left;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_util::task::{AbortOnDropHandle, LocalPoolHandle};

use super::connection;
use super::held::Held;
use super::lanes::{Lanes, Place};
use super::pool::{Counters, Pool};
use super::rules::Rules;
use crate::error::{Result, StoreError};

/// Connections, and the threads that drive them.
#[derive(Clone)]
pub(super) struct Connections {
    threads: LocalPoolHandle,
    pub lanes: Arc<Lanes>,
}

impl Connections {
    /// Opens so many connections on so many lanes.
    pub fn open(config: &Config, connections: usize, lanes: usize, rules: Rules) -> Result<Self> {
        // A lane without a connection would keep its operations waiting for ever.
        let lanes = lanes.min(connections.max(1));
        let counters: Arc<Counters> = Arc::default();
        let pools = (0..lanes).map(|lane| {
            // What cannot be divided goes to the first lanes.
            let connections = connections / lanes + usize::from(lane < connections % lanes);
            let connections = connections.max(1);
            Ok((pool(config, connections, &rules, &counters)?, connections))
        });
        let pools = pools.collect::<Result<Vec<_>>>()?;
        #[expect(clippy::disallowed_methods, reason = "connections stay on one thread, for which the seam has no word")]
        let threads = LocalPoolHandle::new(lanes);
        Ok(Connections { threads, lanes: Arc::new(Lanes::new(pools, rules, counters)) })
    }

    /// Runs work on a lane; it ends when the caller goes away, and what the server does for it is cancelled.
    pub async fn run<F>(&self, work: F) -> Result<()>
    where
        F: AsyncFnOnce(Arc<Place>) -> Result<()> + Send + 'static,
    {
        let place = self.lanes.place(&[]).await?;
        // Otherwise a request that was broken off would leave a long read running, and a place taken.
        self.spawn(place, work).ended().await
    }

    /// Begins work on the lane of a place.
    pub fn spawn<F>(&self, place: Place, work: F) -> OnLane
    where
        F: AsyncFnOnce(Arc<Place>) -> Result<()> + Send + 'static,
    {
        let lane = place.lane();
        let (result, leave) = Left::new();
        let begin: Begin = Box::new(move || Box::pin(async move { leave.put(work(Arc::new(place)).await) }));
        #[expect(clippy::disallowed_methods, reason = "the work of a connection stays on the thread of its lane")]
        let task = self.threads.spawn_pinned_by_idx(begin, lane);
        OnLane { task: AbortOnDropHandle::new(task), result }
    }
}

fn pool(config: &Config, connections: usize, rules: &Rules, counters: &Arc<Counters>) -> Result<Pool> {
    // A connection whose peer has gone is noticed by the task that drives it, so looking whether it is closed is enough.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let tls = if config.get_ssl_mode() == SslMode::Disable { None } else { Some(connection::tls()?) };
    let manager = match tls.clone() {
        None => Manager::from_config(config.clone(), NoTls, recycling),
        Some(tls) => Manager::from_config(config.clone(), tls, recycling),
    };
    Pool::new(manager, tls, connections, rules, counters)
}

/// Work as a lane takes it: of one type, so that what drives tasks is compiled once and not for each operation.
type Begin = Box<dyn FnOnce() -> LocalBoxFuture<'static, ()> + Send>;

/// Work on a lane, which ends when this is dropped.
pub(super) struct OnLane {
    task: AbortOnDropHandle<()>,
    result: Left<Result<()>>,
}

impl OnLane {
    /// Returns what the work answers.
    pub async fn ended(self) -> Result<()> {
        let stopped = || StoreError::Database("store work stopped".to_owned());
        joined(self.task.await.map(|()| self.result.take().unwrap_or_else(|| Err(stopped()))))
    }
}

/// Returns what a task answers, or that it was stopped.
pub(super) fn joined<T>(ended: std::result::Result<Result<T>, impl std::fmt::Display>) -> Result<T> {
    ended.unwrap_or_else(|error| Err(StoreError::Database(format!("store work stopped: {error}"))))
}

/// Returns a connection of the lane of a place.
pub(super) async fn connect(place: &Arc<Place>) -> Result<Arc<Held>> {
    Held::take(place).await.map(Arc::new).map_err(|error| match error {
        PoolError::Timeout(_) => StoreError::Unavailable("no database connection became free in time".to_owned()),
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error.into(),
        error => StoreError::Unavailable(error.to_string()),
    })
}
