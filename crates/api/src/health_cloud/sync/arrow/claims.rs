//! What an Arrow stream claims, held against what it is.
//!
//! | claim | held to | else |
//! |---|---|---|
//! | length of a message, of its body | what follows | memory for what never comes |
//! | length of the schema | 64 KiB | its parts can be shared, so that it unfolds with the square of its length |
//! | offset and length of a buffer | the body | the reader panics |
//! | all buffers of a batch | the body, so they share no bytes | each of 36 columns becomes a copy of one |
//! | length of a buffer of values, keys, offsets or views | a whole multiple of their size | the reader panics |
//! | length of an array | that of its batch, and the bits that there are | arrays of nothing but nulls have no bytes |
//! | compression of buffers, changes of a dictionary | not taken | a batch unfolds beyond the limit of the body |
//!
//! So a stream takes memory in proportion to its bytes, and time too. None of the libraries that write such streams
//! does what is refused here, unless it is asked for compressed buffers or delta dictionaries.

use arrow_ipc::{Field, MessageHeader, RecordBatch, Schema as Fields, root_as_message};
use arrow_schema::{DataType, FieldRef, Schema};

/// The longest message that a schema may be, bytes. One of ours has 6 KiB.
const LONGEST_SCHEMA: usize = 64 * 1024;
/// Mark before the length of a message since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];
const DAMAGED: &str = "a message is damaged";
/// What represents one text in a column of views: its length, and itself or the place where it is.
const VIEW_BYTES: usize = 16;

/// Checks the first message of a stream, before it is read as a schema.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_schema(stream: &[u8]) -> Result<(), &'static str> {
    let (header, _) = next_message(stream)?.ok_or("it is empty")?;
    if header.len() > LONGEST_SCHEMA { Err("its schema is too long") } else { Ok(()) }
}

/// Checks the messages behind the schema, before any is decoded; answers how many bytes all messages are. The schema must
/// have flat columns only.
///
/// # Errors
/// What is wrong with the first that is.
pub(super) fn check_batches(stream: &[u8], schema: &Schema) -> Result<usize, &'static str> {
    let (header, mut rest) = next_message(stream)?.ok_or("it is empty")?;
    let message = root_as_message(header).map_err(|_| DAMAGED)?;
    // No writer gives a schema a body, and the reader would step over one of any length.
    if message.bodyLength() != 0 {
        return Err("its schema has a body");
    }
    let dictionaries = dictionaries_of(message.header_as_schema().ok_or("it begins without a schema")?, schema);
    while let Some((header, after)) = next_message(rest)? {
        let message = root_as_message(header).map_err(|_| DAMAGED)?;
        let body_length = usize::try_from(message.bodyLength()).map_err(|_| "a message has no length")?;
        // The reader takes memory for the claimed length first and reads afterwards.
        let (body, after) = after.split_at_checked(body_length).ok_or("a message ends early")?;
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or(DAMAGED)?;
                check_batch(batch, body.len(), stream.len())?;
                check_widths(batch, schema.fields().iter().map(|field| field.data_type()))?;
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or(DAMAGED)?;
                // Small changes of a large dictionary would each make a copy of all of it.
                if dictionary.isDelta() {
                    return Err("it changes a dictionary instead of replacing it");
                }
                let entries = dictionary.data().ok_or(DAMAGED)?;
                check_batch(entries, body.len(), stream.len())?;
                // One dictionary can serve several columns, and each of them reads it with its own width.
                for (_, data_type) in dictionaries.iter().filter(|(id, _)| *id == dictionary.id()) {
                    check_widths(entries, std::iter::once(*data_type))?;
                }
            }
            // Tensors and sparse tensors are no rows, and the reader has code for them that nobody has tried.
            _ => return Err("it has a message of another kind"),
        }
        rest = after;
    }
    Ok(stream.len() - rest.len())
}

/// Of each column that has a dictionary: by which number the stream calls it, and the type of its entries.
fn dictionaries_of<'schema>(message: Fields<'_>, schema: &'schema Schema) -> Vec<(i64, &'schema DataType)> {
    let fields = message.fields().into_iter().flatten();
    let of_field = |(field, read): (Field<'_>, &'schema FieldRef)| match read.data_type() {
        DataType::Dictionary(_, entries) => Some((field.dictionary()?.id(), &**entries)),
        _ => None,
    };
    fields.zip(schema.fields()).filter_map(of_field).collect()
}

/// Holds the lengths of values, keys, offsets and views against their widths. They fill the second buffer of a column,
/// behind that of its nulls.
fn check_widths<'types>(
    batch: RecordBatch<'_>,
    columns: impl Iterator<Item = &'types DataType>,
) -> Result<(), &'static str> {
    let mut buffers = batch.buffers().into_iter().flatten();
    let mut counts_of_views = batch.variadicBufferCounts().into_iter().flatten();
    for data_type in columns {
        let (buffers_of_column, width) = match data_type {
            // Columns of nothing but nulls have no buffers at all.
            DataType::Null => continue,
            DataType::Dictionary(keys, _) => (2, keys.primitive_width().unwrap_or(1)),
            DataType::Utf8 | DataType::Binary => (3, size_of::<i32>()),
            DataType::LargeUtf8 | DataType::LargeBinary => (3, size_of::<i64>()),
            DataType::Utf8View | DataType::BinaryView => {
                let of_texts = counts_of_views.next().and_then(|count| usize::try_from(count).ok());
                (of_texts.and_then(|count| count.checked_add(2)).ok_or("a column of views has no buffers")?, VIEW_BYTES)
            }
            other => (2, other.primitive_width().unwrap_or(1)),
        };
        let mut of_column = buffers.by_ref().take(buffers_of_column);
        if of_column.nth(1).is_some_and(|buffer| !is_whole(buffer.length(), width)) {
            return Err("a buffer holds a part of a value");
        }
        of_column.for_each(drop);
    }
    Ok(())
}

fn is_whole(length: i64, width: usize) -> bool {
    usize::try_from(length).is_ok_and(|length| length.is_multiple_of(width))
}

/// The head of a message, and what follows it: its body and the messages after it.
type Message<'stream> = (&'stream [u8], &'stream [u8]);

/// Returns the message that a stream begins with; `None` at its end.
fn next_message(stream: &[u8]) -> Result<Option<Message<'_>>, &'static str> {
    const ENDS_EARLY: &str = "it ends within a message";
    if stream.is_empty() {
        return Ok(None);
    }
    let (mut length, mut rest) = stream.split_first_chunk::<4>().ok_or(ENDS_EARLY)?;
    // Streams of older writers have the length alone.
    if *length == CONTINUATION {
        (length, rest) = rest.split_first_chunk::<4>().ok_or(ENDS_EARLY)?;
    }
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| "a message has no length")?;
    // A sender may write the end of the stream; what follows it is not ours to judge.
    if length == 0 {
        return Ok(None);
    }
    rest.split_at_checked(length).map(Some).ok_or(ENDS_EARLY)
}

fn check_batch(batch: RecordBatch<'_>, body_bytes: usize, stream_bytes: usize) -> Result<(), &'static str> {
    // Buffers unfold one by one inside of the reader, where no limit of ours reaches. The whole body may be packed
    // instead.
    if batch.compression().is_some() {
        return Err("its buffers are compressed; compress the whole body instead");
    }
    // A row has at least a bit in some column, or a stream of a few bytes could claim a billion rows of nulls.
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
