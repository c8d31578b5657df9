//! Nodes that work in the background, and the end of the leases of those that have died.
//!
//! A node gives signs of life by raising its `beat` beyond that of all others. Nobody compares clocks: a node whose beat
//! has not changed for some seconds of the observer's own time is dead, and a node that sees it removes the row and
//! ends its leases in one transaction. A node that was only slow finds its row gone, stops what it was doing and enters
//! again; until then the tokens of its leases keep it from changing anything.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::engine::{Columns, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::NodeId;
use crate::readers::{count, is_any, or_zero, pair};
use crate::texts::{record, sql};

// A patient who was put aside until 9999 (`NEVER_MS`) is no work, however much still comes.
record! {
    view_columns!(""), read_view(columns) -> NodeView {
        derivations_ms = "(SELECT MIN(derive_ready_ms) FROM patient
            WHERE derive_ready_ms IS NOT NULL AND fold_lease_until_ms < 253402300799000)",
        jobs_ms = "(SELECT MIN(ready_ms) FROM job)",
        nodes = "(SELECT COUNT(*) FROM node)" by count,
        lowest_beat = "(SELECT MIN(beat) FROM node)" by or_zero,
    }
}

// What is due of patients is taken for due now: who it is shows the claim, which goes around those who cannot be read.
record! {
    view_around_columns!(""), read_view_around(columns) -> NodeView {
        derivations_ms = "CAST(0 AS BIGINT)", jobs_ms = "(SELECT MIN(ready_ms) FROM job)",
        nodes = "(SELECT COUNT(*) FROM node)" by count, lowest_beat = "(SELECT MIN(beat) FROM node)" by or_zero,
    }
}

// Jobs too are taken for due then. What of them can be read is claimed, and derivations need none of them.
record! {
    bare_view_columns!(""), read_bare_view(columns) -> NodeView {
        derivations_ms = "CAST(0 AS BIGINT)", jobs_ms = "CAST(0 AS BIGINT)",
        nodes = "(SELECT COUNT(*) FROM node)" by count, lowest_beat = "(SELECT MIN(beat) FROM node)" by or_zero,
    }
}

record! {
    looked_bare_columns!(""), read_looked_bare(row) -> Looked {
        view <- bare_view_columns!(read_bare_view), is_entered = "(SELECT COUNT(*) FROM node WHERE id = $1)" by is_any,
    }
}

record! {
    looked_around_columns!(""), read_looked_around(row) -> Looked {
        view <- view_around_columns!(read_view_around),
        is_entered = "(SELECT COUNT(*) FROM node WHERE id = $1)" by is_any,
    }
}

record! {
    looked_columns!(""), read_looked(row) -> Looked {
        view <- view_columns!(read_view), is_entered = "(SELECT COUNT(*) FROM node WHERE id = $1)" by is_any,
    }
}

/// Whether a column names a node that has ended.
macro_rules! gone {
    ($node:literal) => {
        concat!($node, " IS NOT NULL AND ", $node, " NOT IN (SELECT id FROM node)")
    };
}

sql! {
    NAMED = "SELECT id FROM node WHERE name = $1";
    ADD = "INSERT INTO node (id, name, started_ms, beat)
        VALUES ($1, $2, $3, (SELECT COALESCE(MAX(beat), 0) + 1 FROM node))";
    /// One statement asks for everything that a node which has nothing to do wants to know.
    LOOK = concat!("SELECT ", looked_columns!());
    /// The same, with a sign of life; no row when the node counts as dead.
    BEAT = concat!("UPDATE node SET beat = (SELECT MAX(beat) + 1 FROM node) WHERE id = $1
        RETURNING ", view_columns!());
    /// Both without a look at patients, for when a row of theirs cannot be read: a sign of life must not depend on it.
    LOOK_AROUND = concat!("SELECT ", looked_around_columns!());
    BEAT_AROUND = concat!("UPDATE node SET beat = (SELECT MAX(beat) + 1 FROM node) WHERE id = $1
        RETURNING ", view_around_columns!());
    /// Both without a look at jobs either.
    LOOK_BARE = concat!("SELECT ", looked_bare_columns!());
    BEAT_BARE = concat!("UPDATE node SET beat = (SELECT MAX(beat) + 1 FROM node) WHERE id = $1
        RETURNING ", bare_view_columns!());
    BEATS = "SELECT id, beat FROM node";
    REMOVE = "DELETE FROM node WHERE id = $1 AND beat = $2";
    LEAVE = "DELETE FROM node WHERE id = $1";
    FREE_JOBS = "UPDATE job SET node = NULL, ready_ms = $2 WHERE (kind, subject) IN
        (SELECT kind, subject FROM job WHERE node = $1 /*postgres FOR UPDATE SKIP LOCKED postgres*/)";
    /// A row that somebody holds is left out, here and above, for [`HealthDb::end_late_leases`]: the node that has died may be
    /// one that froze in the middle of a transaction, and all its other work is to pass on.
    FREE_PATIENTS = "UPDATE patient SET fold_node = NULL, fold_lease_until_ms = 0 WHERE uuid IN
        (SELECT uuid FROM patient WHERE fold_node = $1 /*postgres FOR UPDATE SKIP LOCKED postgres*/)";
    /// Who is held has something ready, so only the few patients of that index are looked at.
    COUNT_LATE = concat!("SELECT (SELECT COUNT(*) FROM patient WHERE derive_ready_ms IS NOT NULL AND ", gone!("fold_node"), ")
        + (SELECT COUNT(*) FROM job WHERE ", gone!("node"), ")");
    FREE_LATE_JOBS = concat!("UPDATE job SET node = NULL, ready_ms = $1 WHERE (kind, subject) IN
        (SELECT kind, subject FROM job WHERE ", gone!("node"), " /*postgres FOR UPDATE SKIP LOCKED postgres*/)");
    FREE_LATE_PATIENTS = concat!("UPDATE patient SET fold_node = NULL, fold_lease_until_ms = 0 WHERE uuid IN
        (SELECT uuid FROM patient WHERE ", gone!("fold_node"), " /*postgres FOR UPDATE SKIP LOCKED postgres*/)");
}

/// What a node sees when it looks for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Time at which the next derivation may be claimed, ms.
    pub derivations_ms: Option<i64>,
    /// Time at which the next job may be claimed, ms.
    pub jobs_ms: Option<i64>,
    /// Nodes, this one included.
    pub nodes: u64,
    /// Lowest beat of all nodes. It does not change when one of them has died.
    pub lowest_beat: i64,
}

/// The same, and whether the node that looks is entered.
struct Looked {
    view: NodeView,
    is_entered: bool,
}

/// Which leases of a node that has ended end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    All,
    /// Those of patients are ended one by one afterwards.
    OfJobs,
    /// Those of jobs end by time.
    None,
}

impl Freed {
    /// Returns whether to try again without patients, or without jobs too: one of them cannot be read. The node ends all
    /// the same, since one that cannot end keeps others from beginning.
    fn goes_around(&mut self, error: &StoreError) -> bool {
        let fewer = match self {
            Freed::All => Freed::OfJobs,
            Freed::OfJobs => Freed::None,
            Freed::None => return false,
        };
        let goes_around = error.is_damage();
        if goes_around {
            tracing::warn!(%error, "not all leases of a node that has ended end with it");
            *self = fewer;
        }
        goes_around
    }
}

#[boxed_futures]
impl HealthDb {
    /// Enters a node. Nodes of the same name were earlier processes of this one, which have ended: their leases end.
    /// Returns how many there were.
    pub async fn enter_node(&self, id: &NodeId, name: &str, now_ms: i64) -> Result<u64> {
        let mut freed = Freed::All;
        loop {
            let (id, name) = (id.clone(), name.to_owned());
            let enter = async move |tx: &Tx<'_>| {
                let earlier = tx.query(NAMED, &[&name], |row| row.get::<NodeId>(0)).await?;
                for dead in &earlier {
                    // The new process knows that the old one has ended, since they share a data folder; waiting for its
                    // beat to stop would leave its work undone for seconds.
                    tx.put(LEAVE, &[dead]).await?;
                    free(tx, dead, now_ms, freed).await?;
                }
                tx.put(ADD, &[&id, &name, &now_ms]).await?;
                Ok(earlier.len() as u64)
            };
            match self.db.write(enter).await {
                Err(error) if freed.goes_around(&error) => {}
                entered => return self.ended(entered, freed).await,
            }
        }
    }

    /// Ends the leases of patients that the end of their node has left, and hands on what became of that.
    async fn ended<T>(&self, ended: Result<T>, freed: Freed) -> Result<T> {
        if freed != Freed::All && ended.is_ok() {
            // The caller looks for late leases again, for as long as one can last.
            if let Err(error) = self.end_late_leases_around_damage().await {
                tracing::warn!(%error, "leases of a node that has ended could not be ended");
            }
        }
        ended
    }

    /// Ends leases of nodes that have ended: of rows that somebody held when that was found out, and of claims that were on
    /// their way to the server then. Returns how many there were.
    pub async fn end_late_leases(&self, now_ms: i64) -> Result<u64> {
        // Asked before, since there are hardly ever any: on SQLite a write keeps all others waiting.
        match self.try_end_late_leases(now_ms).await {
            Err(error) if error.is_damage() => {
                let jobs = match self.db.write(async move |tx| tx.execute(FREE_LATE_JOBS, &[&now_ms]).await).await {
                    // They end by time.
                    Err(error) if error.is_damage() => 0,
                    jobs => jobs?,
                };
                Ok(jobs + self.end_late_leases_around_damage().await?)
            }
            ended => ended,
        }
    }

    async fn try_end_late_leases(&self, now_ms: i64) -> Result<u64> {
        let late = self.db.read_single(async |tx| tx.query_opt(COUNT_LATE, &[], |row| row.get::<i64>(0)).await).await?;
        let late = late.unwrap_or(0).unsigned_abs();
        if late > 0 {
            let free = async move |tx: &Tx<'_>| {
                tx.put(FREE_LATE_JOBS, &[&now_ms]).await?;
                tx.put(FREE_LATE_PATIENTS, &[]).await
            };
            self.db.write(free).await?;
        }
        Ok(late)
    }

    /// Looks for work without a sign of life. `None` when the node is not entered, or counts as dead.
    pub async fn look_for_work(&self, id: &NodeId) -> Result<Option<NodeView>> {
        let mut found = self.looked(LOOK, read_looked, id).await;
        if found.as_ref().is_err_and(StoreError::is_damage) {
            found = self.looked(LOOK_AROUND, read_looked_around, id).await;
        }
        if found.as_ref().is_err_and(StoreError::is_damage) {
            found = self.looked(LOOK_BARE, read_looked_bare, id).await;
        }
        Ok(found?.filter(|looked| looked.is_entered).map(|looked| looked.view))
    }

    async fn looked(
        &self,
        text: &'static str,
        read: fn(&Row<'_>) -> Result<Looked>,
        id: &NodeId,
    ) -> Result<Option<Looked>> {
        let id = id.clone();
        self.db.look_up(async move |tx| tx.query_opt(text, &[&id], read).await).await
    }

    /// Gives a sign of life and looks for work. `None` when the node is not entered, or counts as dead.
    pub async fn beat(&self, id: &NodeId) -> Result<Option<NodeView>> {
        let mut beaten = self.beaten(BEAT, |row| read_view(&mut Columns::of(row)), id).await;
        if beaten.as_ref().is_err_and(StoreError::is_damage) {
            beaten = self.beaten(BEAT_AROUND, |row| read_view_around(&mut Columns::of(row)), id).await;
        }
        if beaten.as_ref().is_err_and(StoreError::is_damage) {
            beaten = self.beaten(BEAT_BARE, |row| read_bare_view(&mut Columns::of(row)), id).await;
        }
        beaten
    }

    async fn beaten(
        &self,
        text: &'static str,
        read: fn(&Row<'_>) -> Result<NodeView>,
        id: &NodeId,
    ) -> Result<Option<NodeView>> {
        let id = id.clone();
        self.db.write_single(async move |tx| tx.query_opt(text, &[&id], read).await).await
    }

    /// Sends a wake-up to all nodes that listen; on SQLite there are none.
    pub async fn wake_nodes(&self, message: &str) -> Result<()> {
        self.db.notify(message).await
    }

    /// Returns the beat of each node, by id.
    pub async fn beats(&self) -> Result<Vec<(NodeId, i64)>> {
        self.db.read_single(async |tx| tx.query(BEATS, &[], pair).await).await
    }

    /// Removes a node that still has the beat it was seen with, and ends its leases. False when it has beaten since or
    /// is gone.
    pub async fn remove_dead_node(&self, id: &NodeId, seen_beat: i64, now_ms: i64) -> Result<bool> {
        let mut freed = Freed::All;
        loop {
            let id = id.clone();
            let remove = async move |tx: &Tx<'_>| {
                // With the beat: a node that gave a sign of life after it was looked at keeps its leases.
                let is_dead = tx.execute(REMOVE, &[&id, &seen_beat]).await? == 1;
                if is_dead {
                    free(tx, &id, now_ms, freed).await?;
                }
                Ok(is_dead)
            };
            match self.db.write(remove).await {
                Err(error) if freed.goes_around(&error) => {}
                removed => return self.ended(removed, freed).await,
            }
        }
    }

    /// Ends a node that stops: what it still holds is free for others at once.
    pub async fn leave_node(&self, id: &NodeId, now_ms: i64) -> Result<()> {
        let mut freed = Freed::All;
        loop {
            let id = id.clone();
            let leave = async move |tx: &Tx<'_>| {
                tx.put(LEAVE, &[&id]).await?;
                free(tx, &id, now_ms, freed).await
            };
            match self.db.write(leave).await {
                Err(error) if freed.goes_around(&error) => {}
                left => return self.ended(left, freed).await,
            }
        }
    }
}

/// Ends the leases of a node. Patients are looked through without an index, which every claim would have to keep up with a
/// page more to write: nodes start and die seldom. [`Freed`] says how damage is met.
async fn free(tx: &Tx<'_>, id: &NodeId, now_ms: i64, freed: Freed) -> Result<()> {
    if freed != Freed::None {
        tx.put(FREE_JOBS, &[&id, &now_ms]).await?;
    }
    if freed == Freed::All {
        tx.put(FREE_PATIENTS, &[&id]).await?;
    }
    Ok(())
}
