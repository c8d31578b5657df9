//! Metrics of the two databases: operations by name, connections.

use store::{BUCKETS_US, DbCounts, PoolCounts};

use super::text::{Counted, heading, histogram, line};

/// Writes what each database has been asked on this node, and what waits for its connections.
pub(super) fn write(databases: &[DbCounts], text: &mut String) {
    write_operations(databases, text);
    write_pools(databases, text);
    let name = "pulseward_store_writer_queue";
    heading(text, name, "gauge", "Transactions that wait for the one writer of a SQLite file.");
    for counts in databases {
        if let Some(waiting) = counts.writer_queue {
            line(text, &format!("{name}{{database=\"{}\"}} {waiting}", counts.database));
        }
    }
}

fn write_operations(databases: &[DbCounts], text: &mut String) {
    let name = "pulseward_store_operation_duration_seconds";
    heading(text, name, "histogram", "Time of a store operation, until its effects are durable.");
    for counts in databases {
        for operation in &counts.operations {
            let labels = format!("database=\"{}\",operation=\"{}\"", counts.database, operation.name);
            let durations = &operation.durations;
            let counted = Counted { ends_s: &ends_s(), counts: &durations.buckets, sum_us: durations.sum_us };
            histogram(text, name, &labels, &counted);
        }
    }
    let name = "pulseward_store_operation_failures_total";
    heading(text, name, "counter", "Store operations that failed, by kind.");
    for counts in databases {
        for operation in &counts.operations {
            for (kind, count) in &operation.failures {
                let labels = format!("database=\"{}\",operation=\"{}\"", counts.database, operation.name);
                line(text, &format!("{name}{{{labels},kind=\"{kind}\"}} {count}"));
            }
        }
    }
}

/// Name, description, and the value that is shown.
type Gauge = (&'static str, &'static str, fn(&PoolCounts) -> usize);

fn write_pools(databases: &[DbCounts], text: &mut String) {
    let gauges: [Gauge; 4] = [
        ("pulseward_store_connections", "Connections that are open.", |pool| pool.size),
        ("pulseward_store_connections_in_use", "Connections that operations use.", |pool| pool.in_use),
        ("pulseward_store_connections_limit", "Connections that can be open.", |pool| pool.limit),
        ("pulseward_store_connections_waited_for", "Operations that wait for a connection.", |pool| pool.waiting),
    ];
    for (name, help, value) in gauges {
        heading(text, name, "gauge", help);
        for counts in databases {
            line(text, &format!("{name}{{database=\"{}\"}} {}", counts.database, value(&counts.pool)));
        }
    }
    let name = "pulseward_store_connections_opened_total";
    heading(text, name, "counter", "Connections that were opened.");
    for counts in databases {
        line(text, &format!("{name}{{database=\"{}\"}} {}", counts.database, counts.pool.opened));
    }
    let name = "pulseward_store_connection_wait_seconds";
    heading(text, name, "histogram", "Time that an operation waited for a connection.");
    for counts in databases {
        let (labels, waits) = (format!("database=\"{}\"", counts.database), &counts.pool.waits);
        let counted = Counted { ends_s: &ends_s(), counts: &waits.buckets, sum_us: waits.sum_us };
        histogram(text, name, &labels, &counted);
    }
}

fn ends_s() -> [f64; BUCKETS_US.len()] {
    BUCKETS_US.map(|end_us| end_us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use store::{DurationCounts, OperationCounts};

    use super::*;

    #[test]
    fn operations_and_connections_are_written_by_database() {
        let mut durations = DurationCounts { sum_us: 2_500_000, ..DurationCounts::default() };
        (durations.buckets[0], durations.buckets[2], durations.buckets[BUCKETS_US.len()]) = (5, 2, 1);
        let failures = vec![("conflict", 2), ("cancelled", 1)];
        let operations = vec![OperationCounts { name: "sessions.session".to_owned(), durations, failures }];
        let pool = PoolCounts { size: 3, in_use: 2, waiting: 4, limit: 16, opened: 7, waits: durations };
        let users = DbCounts { database: "users", operations, pool, writer_queue: None };
        let mut text = String::new();
        let pool = PoolCounts::default();
        let health = DbCounts { database: "health", operations: Vec::new(), pool, writer_queue: Some(9) };
        write(&[users, health], &mut text);
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
            "pulseward_store_writer_queue{database=\"health\"} 9".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("writer_queue{database=\"users\"}"), "{text}");
    }
}
