//! How long anything towards a PostgreSQL database may take: every limit with its reason, in one place.
//!
//! Without a limit, one node that freezes while it holds a row, or a link that is cut without a word, would keep every
//! operation of all nodes that meets it, and with them every connection of the pool.
//!
//! The server ends what takes too long in a transaction; its limits travel with BEGIN ([`Work`]), so that they hold behind
//! a pooler too. This program ends what gets no answer at all ([`super::postgres`]'s breaker).

use std::time::Duration;

/// Longest time until a new connection is ready. A server that is alive needs milliseconds.
pub(super) const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// Quiet time after which the operating system asks whether the peer is there.
pub(super) const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
/// Interval at which it asks again, and how many times, before the peer counts as gone.
pub(super) const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
pub(super) const KEEPALIVE_TRIES: u32 = 3;
/// Time for which sent bytes may stay without acknowledgement before the peer counts as gone.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(20);

/// Time for which an operation waits for a connection of the pool. Long enough for a burst: a thousand syncs at once
/// are served within a few seconds.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Time for which an operation waits until fewer than [`OF_ONE_OWNER`] others write rows of the same owner, or of the
/// same line: as long as those may wait for a lock.
pub(super) const LONGEST_QUEUE: Duration = Duration::from_secs(5);
/// Connections that writes of one owner's rows may take at the same time: one works, and one more waits in the server,
/// so that nothing is lost between two of them.
pub(super) const OF_ONE_OWNER: usize = 2;

/// A try that failed after this is not followed by another one: it has waited for what the next one would wait for too.
/// Longer than the second after which the server looks for a deadlock, whose victim is tried again.
pub(super) const TRY_AGAIN_WITHIN: Duration = Duration::from_secs(3);
/// Time that a write whose caller has gone may take to end by itself. Most need milliseconds, and ending them by force
/// costs a connection.
pub(super) const LONGEST_UNWATCHED: Duration = Duration::from_secs(1);
/// Longest time until a connection whose statement was given up is closed, whether the server has ended it or not.
pub(super) const LONGEST_CANCEL: Duration = Duration::from_secs(10);

/// Time without any part of a copy after which the server is asked whether it is at work on it. A server on a slow disk may
/// need seconds for one part.
pub(super) const LONGEST_QUIET: Duration = Duration::from_secs(10);
/// Longest wait for statements of a copy that need no work of the server, or have a deadline of their own that is shorter.
pub(super) const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// Time without an answer to anything after which the server is asked whether it is there.
pub(super) const SUSPICIOUS: Duration = Duration::from_secs(1);
/// Longest time that such a question takes. With [`SUSPICIOUS`] it stays below two seconds, and a probe of the node, which
/// asks the same, below one.
pub(super) const LONGEST_PROBE: Duration = Duration::from_millis(850);
/// When the question is asked a second time, on a new connection: the first may have died without a word.
pub(super) const ASK_TWICE_AFTER: Duration = Duration::from_millis(300);
/// Longest wait for the answer of a server that did not answer before. On a machine with a load of ten, a new connection took
/// more than a second.
pub(super) const LONGEST_RETURN: Duration = Duration::from_secs(3);
/// Interval at which a server that did not answer is asked again.
pub(super) const PROBE_EVERY: Duration = Duration::from_millis(500);

/// What an operation is, as far as its deadlines in the server go.
///
/// `lock` bounds the wait for a row that another transaction holds, `statement` the work of one statement, `pause` the time
/// between two statements of a transaction, after which a node that froze has to let go of what it held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Work {
    /// What a request asks for, and everything that no other name is for.
    #[default]
    Request,
    /// A write of one patient's rows. It may pause for longer, since only writes of the same patient wait for it: a sync
    /// of many hours is merged between its two flights.
    OneOwner,
    /// A write that comes to hold a row which those of many owners hold, such as the head of a log. Who freezes with it has to
    /// let go soon, and who waits for it in vain ends while the caller still waits.
    InLine,
    /// A commit of several patients' derivations, and leases that are prolonged one after the other. It waits briefly,
    /// since the others are held up meanwhile; commits that failed together are tried one by one.
    Batch,
    /// A deletion of everything of a patient or of a period: years of rows in one statement.
    Deletion,
    /// A look through a whole table, as sealing and `doctor` need it.
    Scan,
}

macro_rules! deadlines {
    (lock $lock:literal, statement $statement:literal, pause $pause:literal) => {
        concat!("BEGIN; SET LOCAL lock_timeout = '", $lock, "'; ", deadlines!(statement $statement, pause $pause))
    };
    (statement $statement:literal, pause $pause:literal) => {
        concat!(
            "SET LOCAL statement_timeout = '",
            $statement,
            "'; SET LOCAL idle_in_transaction_session_timeout = '",
            $pause,
            "'"
        )
    };
}

/// Deadlines of statements outside a transaction. Options of the start of a connection would save this statement, but
/// poolers refuse them. The server finds a client that was cut off, too, while it sends rows to it.
pub(super) const OF_SESSION: &str = "SET lock_timeout = '5s'; SET statement_timeout = '60s'; \
    SET idle_in_transaction_session_timeout = '30s'; SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; \
    SET tcp_keepalives_count = 3; SET tcp_user_timeout = '20s'";

impl Work {
    /// Begins a transaction that writes.
    // Read committed, which is the default: a statement that waited for another transaction goes on with the row as that
    // one left it. Holding a patient's row by an UPDATE rests on this; at a stricter level such a wait would end in a
    // conflict each time.
    pub(super) fn begin_write(self) -> &'static str {
        match self {
            // The pause is shorter than the wait: who waits for a node that froze gets the row when that has to let go.
            Work::Request | Work::Scan => deadlines!(lock "5s", statement "30s", pause "4s"),
            Work::InLine => deadlines!(lock "3s", statement "30s", pause "2s"),
            Work::OneOwner => deadlines!(lock "5s", statement "30s", pause "10s"),
            // Everything is computed before it, and a node that freezes in it holds rows of sixteen patients.
            Work::Batch => deadlines!(lock "500ms", statement "30s", pause "2s"),
            Work::Deletion => deadlines!(lock "5s", statement "10min", pause "15s"),
        }
    }

    /// Begins a transaction that reads one state.
    // Repeatable read: statements of one operation would otherwise see different states, such as a segment's row and the
    // chunks that were merged into it. What only reads cannot fail by it.
    pub(super) fn begin_snapshot(self) -> &'static str {
        macro_rules! snapshot {
            ($($deadlines:tt)*) => {
                // What only reads waits for a migration alone, which the deadline of the statement bounds as well.
                concat!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ", deadlines!($($deadlines)*))
            };
        }
        match self {
            Work::Scan => snapshot!(statement "10min", pause "5min"),
            // What is read is decoded between two statements, and nobody waits for a reader.
            _ => snapshot!(statement "60s", pause "60s"),
        }
    }

    /// Returns whether the deadlines of the session, which hold for single statements, are too short.
    pub(super) fn needs_transaction(self) -> bool {
        matches!(self, Work::Deletion | Work::Scan)
    }
}
