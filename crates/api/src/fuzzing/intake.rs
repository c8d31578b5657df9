//! From what a reader gives to what is stored.

use platform::ingest::TypeBatches;
use vitals::block::{Block, Cells};
use vitals::intake::{Accepted, Batch, Intake, NAMED_REJECTIONS};
use vitals::merge::in_time_order;
use vitals::registry::DataType;
use vitals::zone::ZoneName;

/// The server's time in the targets, µs: 2025-11-21T04:40Z.
const NOW_US: i64 = 1_763_700_000_000_000;

/// Takes in the batches of a type as a sync does and puts their rows in order. Each row has to be accounted for.
pub(super) fn take_in(batches: TypeBatches, zone: &ZoneName) -> Accepted {
    let mut accepted = taken_in(batches, zone);
    accepted.blocks = accepted.blocks.into_iter().map(ordered).collect();
    accepted
}

fn taken_in(batches: TypeBatches, zone: &ZoneName) -> Accepted {
    let mut intake = Intake::new(batches.data_type, NOW_US);
    let mut sent = 0;
    for batch in batches.batches {
        check_batch(batches.data_type, &batch);
        sent += batch.times_us.len() as u64;
        intake.push(batch, zone);
    }
    let accepted = intake.finish();
    let good: usize = accepted.blocks.iter().map(Block::rows).sum();
    assert_eq!(good as u64 + accepted.rejected, sent, "each row is good or rejected");
    assert_eq!(accepted.rejections.len() as u64, accepted.rejected.min(NAMED_REJECTIONS as u64));
    assert!(accepted.rejections.is_sorted_by(|earlier, later| earlier.index < later.index));
    assert!(accepted.blocks.is_sorted_by(|one, next| one.channel < next.channel));
    accepted
}

/// What a reader gives: as many cells in each column as there are times, and no fault beyond them.
fn check_batch(data_type: DataType, batch: &Batch) {
    let rows = batch.times_us.len();
    assert!(rows > 0, "no batch is empty");
    check_columns(data_type, rows, &batch.columns);
    assert!(batch.faults.iter().all(|fault| (fault.row as usize) < rows));
    let is_there = |name: &str| name == "timestamp" || data_type.column(name).is_some();
    assert!(batch.faults.iter().all(|fault| is_there(fault.column)));
    assert!(batch.zones.as_ref().is_none_or(|zones| zones.rows() as usize == rows));
}

fn check_columns(data_type: DataType, rows: usize, columns: &[Cells]) {
    assert_eq!(columns.len(), data_type.columns().len());
    for cells in columns {
        match cells {
            Cells::Constant(_) => {}
            Cells::Values(cells) => assert_eq!(cells.len(), rows),
            Cells::Text(texts) => assert_eq!(texts.len(), rows),
        }
    }
}

/// What every block is: columns and zones of one length.
pub(super) fn check_shape(block: &Block) {
    check_columns(block.data_type, block.rows(), &block.columns);
    assert_eq!(block.zones.rows() as usize, block.rows());
}

fn ordered(block: Block) -> Block {
    check_shape(&block);
    let rows = block.rows() as u64;
    let ordered = in_time_order(block);
    let block = ordered.block;
    assert_eq!(block.rows() as u64 + ordered.duplicate + ordered.replaced, rows, "each row counts once");
    assert!(block.times_us.is_sorted_by(|earlier, later| earlier < later));
    check_shape(&block);
    check_payload(&block);
    block
}

/// A chunk comes back as it was.
pub(super) fn check_payload(block: &Block) {
    let bytes = store::fuzzing::encode(block).expect("a block that can be written");
    let again = store::fuzzing::decode(block.data_type, block.channel, &bytes).expect("what was just written");
    assert_eq!(again, *block, "a chunk comes back as it was");
}
