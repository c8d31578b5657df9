//! What an Arrow stream claims, held against what it is.
//!
//! | claim | held to | else |
//! |---|---|---|
//! | length of a message, of its body | what follows | memory for what never comes |
//! | length of the schema | 64 KiB | its parts can be shared, so that it unfolds with the square of its length |
//! | offset and length of a buffer | the body | the reader panics |
//! | all buffers of a batch | the body, so they share no bytes | each of 36 columns becomes a copy of one |
//! | length of a buffer of keys or offsets | a whole number of them | the reader panics |
//! | length of an array | that of its batch, and the bits that there are | arrays of nothing but nulls have no bytes |
//! | compression of buffers, changes of a dictionary | not taken | a batch unfolds beyond the limit of the body |
//!
//! So a stream takes memory in proportion to its bytes, and time too. None of the libraries that write such streams
//! does what is refused here, unless it is asked for compressed buffers or delta dictionaries.

use arrow_ipc::{MessageHeader, RecordBatch, root_as_message};
use arrow_schema::{DataType, Schema};

/// The longest message that a schema may be, bytes. One of ours has 6 KiB.
const LONGEST_SCHEMA: usize = 64 * 1024;
/// What announces the length of a message since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Checks the first message of a stream, before it is read as a schema.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_schema(stream: &[u8]) -> Result<(), &'static str> {
    let (header, _) = next_message(stream)?.ok_or("it is empty")?;
    if header.len() > LONGEST_SCHEMA { Err("its schema is too long") } else { Ok(()) }
}

/// Checks the messages behind the schema, before any is decoded. The schema must have flat columns only.
///
/// # Errors
/// What is wrong with the first that is.
pub(super) fn check_batches(stream: &[u8], schema: &Schema) -> Result<(), &'static str> {
    let mut rest = stream;
    let mut is_first = true;
    while let Some((header, after)) = next_message(rest)? {
        let message = root_as_message(header).map_err(|_| "a message is damaged")?;
        let body_length = usize::try_from(message.bodyLength()).map_err(|_| "a message has no length")?;
        let (body, after) = after.split_at_checked(body_length).ok_or("a message ends early")?;
        let mut widths = Ok(());
        let batch = match message.header_type() {
            MessageHeader::Schema if is_first => None,
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or("a message is damaged")?;
                widths = check_widths(batch, schema);
                Some(batch)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or("a message is damaged")?;
                if dictionary.isDelta() {
                    return Err("it changes a dictionary instead of replacing it");
                }
                let entries = dictionary.data().ok_or("a message is damaged")?;
                widths = check_entries(entries);
                Some(entries)
            }
            _ => return Err("it has a message of another kind"),
        };
        if !is_first {
            check_batch(batch.ok_or("a message is damaged")?, body.len(), stream.len())?;
            widths?;
        }
        is_first = false;
        rest = after;
    }
    Ok(())
}

/// Holds the lengths of keys and offsets against their widths. Only types with a fixed number of buffers are looked at;
/// behind a column of views the place of a buffer is not known any more.
fn check_widths(batch: RecordBatch<'_>, schema: &Schema) -> Result<(), &'static str> {
    let mut buffers = batch.buffers().into_iter().flatten();
    for field in schema.fields() {
        let (count, width) = match field.data_type() {
            DataType::Null => continue,
            DataType::Dictionary(keys, _) => (2, keys.primitive_width().unwrap_or(1)),
            DataType::Utf8 | DataType::Binary => (3, size_of::<i32>()),
            DataType::LargeUtf8 | DataType::LargeBinary => (3, size_of::<i64>()),
            DataType::Utf8View | DataType::BinaryView => return Ok(()),
            other => (2, other.primitive_width().unwrap_or(1)),
        };
        let of_field: Vec<_> = buffers.by_ref().take(count).collect();
        if of_field.get(1).is_some_and(|buffer| !is_whole(buffer.length(), width)) {
            return Err("a buffer holds a part of a value");
        }
    }
    Ok(())
}

/// The entries of a dictionary are texts or numbers: the buffer behind that of the nulls holds whole numbers of four
/// bytes, or is shorter than the reader looks at.
fn check_entries(entries: RecordBatch<'_>) -> Result<(), &'static str> {
    let second = entries.buffers().and_then(|buffers| (buffers.len() > 2).then(|| buffers.get(1)));
    if second.is_some_and(|buffer| !is_whole(buffer.length(), size_of::<i32>())) {
        return Err("a buffer holds a part of a value");
    }
    Ok(())
}

fn is_whole(length: i64, width: usize) -> bool {
    usize::try_from(length).is_ok_and(|length| length.is_multiple_of(width))
}

/// The head of a message, and what follows it: its body and the messages after it.
type Message<'stream> = (&'stream [u8], &'stream [u8]);

/// The message that a stream begins with; `None` at its end.
fn next_message(stream: &[u8]) -> Result<Option<Message<'_>>, &'static str> {
    const ENDS_EARLY: &str = "it ends within a message";
    if stream.is_empty() {
        return Ok(None);
    }
    let (mut length, mut rest) = stream.split_first_chunk::<4>().ok_or(ENDS_EARLY)?;
    if *length == CONTINUATION {
        (length, rest) = rest.split_first_chunk::<4>().ok_or(ENDS_EARLY)?;
    }
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| "a message has no length")?;
    if length == 0 {
        return Ok(None);
    }
    rest.split_at_checked(length).map(Some).ok_or(ENDS_EARLY)
}

fn check_batch(batch: RecordBatch<'_>, body_bytes: usize, stream_bytes: usize) -> Result<(), &'static str> {
    if batch.compression().is_some() {
        return Err("its buffers are compressed; compress the whole body instead");
    }
    let rows = usize::try_from(batch.length()).ok().filter(|rows| *rows / 8 <= stream_bytes);
    let rows = rows.ok_or("a batch has more rows than bits")? as i64;
    for node in batch.nodes().into_iter().flatten() {
        if node.length() != rows || !(0..=rows).contains(&node.null_count()) {
            return Err("a column has another length than its batch");
        }
    }
    let mut free = body_bytes;
    for buffer in batch.buffers().into_iter().flatten() {
        let (Ok(offset), Ok(length)) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length())) else {
            return Err("a buffer has no place");
        };
        if offset.checked_add(length).is_none_or(|end| end > body_bytes) {
            return Err("a buffer reaches beyond its message");
        }
        free = free.checked_sub(length).ok_or("buffers share bytes")?;
    }
    Ok(())
}
