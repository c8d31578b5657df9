//! The bombs: small on the wire, as large as is allowed when they are expanded, and larger in memory where they are believed.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;

/// An upload.
pub struct Bomb {
    pub name: &'static str,
    pub path: &'static str,
    pub content_type: &'static str,
    pub encoding: &'static str,
    pub body: Vec<u8>,
}

/// A text of about so many bytes in which one part repeats between a beginning and an end.
fn repeated(bytes: usize, (begin, part, end): (&str, &str, &str)) -> Vec<u8> {
    let mut text = begin.as_bytes().to_vec();
    text.extend_from_slice(part.repeat((bytes - begin.len() - end.len() - 16) / part.len()).as_bytes());
    text.extend_from_slice(end.as_bytes());
    for mark in text.iter_mut().filter(|byte| **byte == b'\'') {
        *mark = b'"';
    }
    text
}

fn packed(text: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(text, 1).unwrap()
}

/// JSON with other quotation marks: beginning, what repeats, and end.
const TEXTS: [(&str, (&str, &str, &str)); 17] = [
    ("empty texts", ("{'data':{'tests':{'note':[''", ",''", "]}}}")),
    ("empty texts behind a time", ("{'data':{'tests':{'timestamp':[1763467200000],'note':[''", ",''", "]}}}")),
    ("two texts in turn", ("{'data':{'tests':{'note':[''", ",'a','b'", "]}}}")),
    ("empty rows", ("{'data':{'activity':[{}", ",{}", "]}}")),
    ("rows of one null", ("{'data':{'activity':[{'bpm':null}", ",{'bpm':null}", "]}}")),
    ("numbers", ("{'data':{'activity':{'bpm':[0", ",0", "]}}}")),
    ("numbers of which each is wrong", ("{'data':{'activity':{'bpm':[-1", ",-1", "]}}}")),
    ("fractions", ("{'data':{'rr-interval':{'rr':[0.5", ",0.5", "]}}}")),
    ("times", ("{'data':{'activity':{'timestamp':[0", ",0", "]}}}")),
    ("a block of a rate", ("{'data':{'ppg1':[{'start':1763467200000,'rate_hz':1,'ppg':[0", ",0", "],'x':0}]}}")),
    ("blocks of one row", ("{'data':{'activity':[{}", ",{'timestamp':[0],'bpm':[0]}", ",{'x':0}]}}")),
    ("deep brackets", ("{'data':{'activity':{'bpm':[", "[", "]}}}")),
    ("a long text of escapes", ("{'data':{'tests':{'timestamp':[1],'note':['x", "\\n", "'],'x':0}}}")),
    ("a long name", ("{'data':{'activity':{'", "x", "':[1]}}}")),
    ("a name again and again", ("{'data':{'activity':{'date':0", ",'date':0", "}}}")),
    ("a field that is a tree", ("{'device':[[]", ",[]", "],'data':{}}")),
    ("types again and again", ("{'data':{'activity':[]", ",'activity':[]", "}}")),
];

fn arrow(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// All of them; `mib` is how large they may be when they are expanded.
pub fn bombs(mib: usize) -> Vec<Bomb> {
    let bytes = mib << 20;
    let json =
        |name, body| Bomb { name, path: "/health/v1/sync", content_type: "application/json", encoding: "zstd", body };
    let of_type = |name, path, body| Bomb {
        name,
        path,
        content_type: "application/vnd.apache.arrow.stream",
        encoding: "zstd",
        body,
    };
    let mut bombs: Vec<Bomb> = TEXTS.iter().map(|(name, parts)| json(name, packed(&repeated(bytes, *parts)))).collect();

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![b' '; bytes + 1]).unwrap();
    bombs.push(Bomb { encoding: "gzip", ..json("a body beyond the limit, gzip", encoder.finish().unwrap()) });
    bombs.push(json("a body beyond the limit, zstd", packed(&vec![b' '; 16 * bytes])));
    let mut wide = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(&vec![b' '; bytes]).unwrap();
    bombs.push(json("a wide window", wide.finish().unwrap()));

    let sleep = "/health/v1/sync/sleep";
    let rows = bytes / 5;
    let times: ArrayRef = Arc::new(Int32Array::from(vec![0; rows]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true; rows]));
    let stream = arrow(vec![("timestamp", times.clone()), ("charging", flags)]);
    bombs.push(of_type("Arrow: a column of flags", "/health/v1/sync/activity", packed(&stream)));
    let few: ArrayRef = Arc::new(Int32Array::from(vec![0; 1000]));
    let stream = arrow(vec![("timestamp", few)]);
    bombs.push(of_type("Arrow: a length that is not there", sleep, packed(&with_huge_body(stream))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows / 4).map(|row| (row % 1000).to_string())));
    let stream = arrow(vec![("timestamp", times.slice(0, rows / 4)), ("note", texts)]);
    bombs.push(of_type("Arrow: another text in each row", "/health/v1/sync/tests", packed(&stream)));
    bombs
}

/// The stream with a buffer that claims a terabyte.
fn with_huge_body(mut stream: Vec<u8>) -> Vec<u8> {
    let length = 4000_i64.to_le_bytes();
    let place = stream.windows(8).position(|found| found == length).expect("the length of the buffer is in the stream");
    stream[place..place + 8].copy_from_slice(&(1_i64 << 40).to_le_bytes());
    stream
}
