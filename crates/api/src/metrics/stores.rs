//! Metrics of the two databases: operations by name, connections.

use prometheus::proto::MetricFamily;
use store::{BUCKETS_US, DbCounts, DurationCounts, PoolCounts};

use super::families::{Counted, counters, gauges, histograms};

/// Returns what each database has been asked on this node, and what waits for its connections.
pub(super) fn families(databases: &[DbCounts]) -> Vec<MetricFamily> {
    let mut families = operations(databases);
    families.extend(pools(databases));
    let help = "Transactions that wait for the one writer of a SQLite file.";
    let waiting =
        databases.iter().filter_map(|counts| Some(([("database", counts.database)], counts.writer_queue? as f64)));
    families.push(gauges("pulseward_store_writer_queue", help, waiting));
    families
}

fn operations(databases: &[DbCounts]) -> Vec<MetricFamily> {
    let all = || databases.iter().flat_map(|counts| counts.operations.iter().map(move |one| (counts.database, one)));
    let ends_s = ends_s();
    let durations = all().map(|(database, operation)| {
        ([("database", database), ("operation", operation.name.as_str())], counted(&ends_s, &operation.durations))
    });
    let failures = all().flat_map(|(database, operation)| {
        operation.failures.iter().map(move |(kind, count)| {
            ([("database", database), ("operation", operation.name.as_str()), ("kind", *kind)], *count as f64)
        })
    });
    let help = "Time of a store operation, until its effects are durable.";
    vec![
        histograms("pulseward_store_operation_duration_seconds", help, durations),
        counters("pulseward_store_operation_failures_total", "Store operations that failed, by kind.", failures),
    ]
}

/// Name, description, and the value that is shown.
type Gauge = (&'static str, &'static str, fn(&PoolCounts) -> usize);

fn pools(databases: &[DbCounts]) -> Vec<MetricFamily> {
    let shown: [Gauge; 5] = [
        ("pulseward_store_connections", "Connections that are open.", |pool| pool.size),
        ("pulseward_store_connections_in_use", "Connections that operations use.", |pool| pool.in_use),
        ("pulseward_store_connections_limit", "Connections that can be open.", |pool| pool.limit),
        ("pulseward_store_connections_waited_for", "Operations that wait for a connection.", |pool| pool.waiting),
        ("pulseward_store_unanswered", "1 while the database gives no answer, else 0.", |pool| pool.is_broken.into()),
    ];
    let of_each = |(name, help, value): Gauge| {
        gauges(name, help, databases.iter().map(|counts| ([("database", counts.database)], value(&counts.pool) as f64)))
    };
    let opened = databases.iter().map(|counts| ([("database", counts.database)], counts.pool.opened as f64));
    let breaks = databases.iter().map(|counts| ([("database", counts.database)], counts.pool.breaks as f64));
    let ends_s = ends_s();
    let waits = databases.iter().map(|counts| ([("database", counts.database)], counted(&ends_s, &counts.pool.waits)));
    let mut families: Vec<MetricFamily> = shown.into_iter().map(of_each).collect();
    families.push(counters("pulseward_store_connections_opened_total", "Connections that were opened.", opened));
    let help = "How often the database stopped answering, so that operations failed at once.";
    families.push(counters("pulseward_store_breaks_total", help, breaks));
    let help = "Time that an operation waited for a connection.";
    families.push(histograms("pulseward_store_connection_wait_seconds", help, waits));
    families
}

fn counted<'a>(ends_s: &'a [f64], durations: &'a DurationCounts) -> Counted<'a> {
    Counted { ends_s, counts: &durations.buckets, sum_us: durations.sum_us }
}

fn ends_s() -> [f64; BUCKETS_US.len()] {
    BUCKETS_US.map(|end_us| end_us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use store::OperationCounts;

    use super::*;
    use crate::metrics::families::text_of;

    #[test]
    fn operations_and_connections_are_written_by_database() {
        let mut durations = DurationCounts { sum_us: 2_500_000, ..DurationCounts::default() };
        (durations.buckets[0], durations.buckets[2], durations.buckets[BUCKETS_US.len()]) = (5, 2, 1);
        let failures = vec![("conflict", 2), ("cancelled", 1)];
        let operations = vec![OperationCounts { name: "sessions.session".to_owned(), durations, failures }];
        let used = PoolCounts { size: 3, in_use: 2, waiting: 4, limit: 16, opened: 7, ..PoolCounts::default() };
        let pool = PoolCounts { waits: durations, breaks: 2, is_broken: true, ..used };
        let users = DbCounts { database: "users", operations, pool, writer_queue: None };
        let pool = PoolCounts::default();
        let health = DbCounts { database: "health", operations: Vec::new(), pool, writer_queue: Some(9) };
        let text = text_of(families(&[users, health]));
        let operation = "database=\"users\",operation=\"sessions.session\"";
        for line in [
            format!("pulseward_store_operation_duration_seconds_bucket{{{operation},le=\"0.0001\"}} 5"),
            format!("pulseward_store_operation_duration_seconds_bucket{{{operation},le=\"10\"}} 7"),
            format!("pulseward_store_operation_duration_seconds_bucket{{{operation},le=\"+Inf\"}} 8"),
            format!("pulseward_store_operation_duration_seconds_sum{{{operation}}} 2.5"),
            format!("pulseward_store_operation_duration_seconds_count{{{operation}}} 8"),
            format!("pulseward_store_operation_failures_total{{{operation},kind=\"conflict\"}} 2"),
            "pulseward_store_connections{database=\"users\"} 3".to_owned(),
            "pulseward_store_connections_in_use{database=\"users\"} 2".to_owned(),
            "pulseward_store_connections_limit{database=\"users\"} 16".to_owned(),
            "pulseward_store_connections_waited_for{database=\"users\"} 4".to_owned(),
            "pulseward_store_connections_opened_total{database=\"users\"} 7".to_owned(),
            "pulseward_store_connection_wait_seconds_count{database=\"users\"} 8".to_owned(),
            "pulseward_store_unanswered{database=\"users\"} 1".to_owned(),
            "pulseward_store_breaks_total{database=\"users\"} 2".to_owned(),
            "pulseward_store_unanswered{database=\"health\"} 0".to_owned(),
            "pulseward_store_writer_queue{database=\"health\"} 9".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("writer_queue{database=\"users\"}"), "{text}");
    }
}
