//! The rule of `tests` that spans columns: a kind of test has its units and plausible ranges.

use vitals::block::Cells;
use vitals::registry::{CellError, DataType, TestKind};

use super::judge::{Judge, Reason};

/// Refuses rows whose unit or value is not one of their kind of test, and names the unit where it was omitted.
pub(super) fn judge_units(columns: &mut [Cells], rows: usize, judge: &mut Judge) {
    let position = |name| DataType::Tests.column_index(name);
    let (Some(kind_at), Some(value_at), Some(unit_at)) = (position("test_type"), position("value"), position("unit"))
    else {
        return;
    };
    let value_column = &DataType::Tests.columns()[value_at];
    let mut units = Vec::with_capacity(rows);
    // One column after the other, so that the rows of each are judged in ascending order.
    let mut faults = Vec::new();
    for row in 0..rows {
        let sent = columns[unit_at].text(row).cloned();
        let kind = TestKind::of_cell(columns[kind_at].get(row));
        let value = value_column.value_of(columns[value_at].get(row));
        let (Some(kind), Some(value), false) = (kind, value, judge.is_refused(row)) else {
            units.push(sent);
            continue;
        };
        match kind.check(value, sent.as_deref()) {
            Ok(Some(unit)) => units.push(Some(unit.into())),
            Ok(None) => units.push(sent),
            Err(column) => {
                faults.push((row, column));
                units.push(None);
            }
        }
    }
    for (name, error) in [("value", CellError::OutOfRange), ("unit", CellError::UnknownCode)] {
        judge.turn_to(name);
        for (row, _) in faults.iter().filter(|(_, column)| *column == name) {
            judge.refuse(*row, Reason::Cell(error));
        }
    }
    columns[unit_at] = Cells::Text(units).simplified();
}
