//! Wake-ups between nodes on PostgreSQL.
//!
//! A node informs the others of work that it does not take itself at once: because it has none of the role, or because
//! it is busy. It does so outside the transaction that made the work due, since a NOTIFY in a transaction makes all
//! commits of the server wait for each other, and at most ten times a second, however much becomes due.

use std::time::Duration;

use store::JobKind;
use tokio::sync::watch;

use super::kinds;
use crate::upkeep::Upkeep;

/// The shortest time between two wake-ups that a node sends.
const SEND_EVERY: Duration = Duration::from_millis(100);
/// Pause before listening is begun again. Meanwhile, nodes look for work every two seconds.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// Informs other nodes of work that waits, until `stop` becomes true.
pub async fn send_wake_ups(upkeep: Upkeep, mut stop: watch::Receiver<bool>) {
    loop {
        let kinds = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            kinds = upkeep.core.signals().unheard() => kinds,
        };
        let message = kinds.into_iter().map(JobKind::name).collect::<Vec<_>>().join(" ");
        if let Err(error) = upkeep.core.health().wake_nodes(&message).await {
            tracing::debug!(%error, "other nodes could not be woken; they look for work by themselves");
        }
        // What rings meanwhile goes into one message: syncs come by the hundred.
        runtime::sleep(SEND_EVERY).await;
    }
}

/// Wakes the engine of this node by what others send through the database at an address, until `stop` becomes true.
pub async fn listen(upkeep: Upkeep, url: String, mut stop: watch::Receiver<bool>) {
    let jobs = upkeep.core.signals().clone();
    let wake = move |message: &str| {
        // A newer version may send names that are unknown here.
        for kind in kinds::ALL.iter().filter(|kind| message.split(' ').any(|name| name == kind.spec.kind.name())) {
            jobs.wake(kind.spec.kind);
        }
    };
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            ended = store::listen_for_wake_ups(&url, &wake) => {
                if let Err(error) = ended {
                    tracing::warn!(%error, "listening to other nodes ended and is begun again");
                }
            }
        }
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            () = runtime::sleep(LISTEN_AGAIN) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::Task;
    use store::Address;
    use store::PatientId;
    use testkit::Postgres;

    use super::*;
    use crate::test_service::Service;
    use crate::upkeep::jobs::engine::Engine;
    use crate::upkeep::jobs::job::Kind;
    use crate::upkeep::jobs::membership::NodeName;

    const ADA: &str = "11111111-1111-4111-8111-111111111111";
    /// Far beyond every wait here: what is derived was not found by looking.
    const NEVER: Duration = Duration::from_hours(24);
    const LONGEST: Duration = Duration::from_mins(1);

    /// Node that derives and looks for work once, when it starts.
    fn start_worker(service: &Service, stop: &watch::Receiver<bool>) -> Task<()> {
        let derive: Vec<Kind> =
            kinds::ALL.iter().filter(|kind| kind.spec.kind == store::DERIVE_KIND).copied().collect();
        let name = NodeName { name: "worker".to_owned(), version: "1".to_owned() };
        let mut engine = Engine::new(service.platform.upkeep.clone(), &derive, name);
        engine.set_look_every(NEVER);
        let stop = stop.clone();
        runtime::spawn("engine", async move { engine.work(stop).await })
    }

    /// Syncs minutes at a node until another one has derived them.
    async fn sync_until_derived(taking: &Service, deriving: &Service) {
        let derived = async {
            loop {
                taking.pass_ms(60_000);
                deriving.pass_ms(60_000);
                taking.sync_minute(&PatientId::new(ADA)).await;
                // A wake-up that was sent before the other node listened is lost.
                for _ in 0..10 {
                    runtime::sleep(Duration::from_millis(50)).await;
                    let due = deriving
                        .platform
                        .core
                        .health()
                        .due_of(&PatientId::new(ADA), deriving.platform.core.now_ms())
                        .await
                        .unwrap();
                    if due.is_empty() {
                        return;
                    }
                }
            }
        };
        runtime::timeout(LONGEST, derived).await.expect("no wake-up reached the other node");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn sync_on_a_node_without_workers_wakes_another_node_also_after_its_connection_broke() {
        let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
        let node =
            async || Service::on(Address::Postgres(users.url.clone()), Address::Postgres(health.url.clone())).await;
        let (taking, deriving) = (node().await, node().await);
        taking.enrol(&PatientId::new(ADA)).await;
        let (stop, stopped) = watch::channel(false);
        let tasks = [
            start_worker(&deriving, &stopped),
            runtime::spawn("send", send_wake_ups(taking.platform.upkeep.clone(), stopped.clone())),
            runtime::spawn("listen", listen(deriving.platform.upkeep.clone(), health.url.clone(), stopped.clone())),
        ];
        sync_until_derived(&taking, &deriving).await;
        assert_eq!(health.end_connections("pulseward-listen"), 1);
        sync_until_derived(&taking, &deriving).await;
        assert_eq!(health.connections("pulseward-listen"), 1, "it listens again");
        stop.send(true).unwrap();
        for task in tasks {
            task.await.unwrap();
        }
    }
}
