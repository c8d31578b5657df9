//! A small collector: keeps what is posted to it, and reads as much of the protocol's messages as the tests look at.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;

/// A running collector.
pub struct Collector {
    /// Its address.
    pub url: String,
    bodies: Arc<Mutex<Vec<Bytes>>>,
}

/// A span as it arrived.
#[derive(Debug)]
pub struct Span {
    pub trace: String,
    pub id: String,
    /// Empty for the first of its trace.
    pub parent: String,
    pub name: String,
    pub kind: u64,
    /// Strings and integers, as text.
    pub attributes: BTreeMap<String, String>,
}

impl Collector {
    pub async fn start() -> Self {
        let bodies: Arc<Mutex<Vec<Bytes>>> = Arc::default();
        let kept = bodies.clone();
        let take = async move |headers: HeaderMap, body: Bytes| {
            assert_eq!(headers["content-type"], "application/x-protobuf");
            kept.lock().unwrap().push(body);
            StatusCode::OK
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/v1/traces", post(take))).await });
        Collector { url, bodies }
    }

    /// Returns all spans that have arrived.
    pub fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies.lock().unwrap();
        let below = |bodies: Vec<Message>, number| -> Vec<Message> {
            bodies.iter().flat_map(|message| message.messages(number)).collect()
        };
        let requests: Vec<Message> = bodies.iter().map(|body| Message::read(body)).collect();
        // ExportTraceServiceRequest.resource_spans, ResourceSpans.scope_spans, ScopeSpans.spans
        [1, 2, 2].into_iter().fold(requests, below).iter().map(Span::of).collect()
    }

    /// Returns whether a text is anywhere in what has arrived.
    pub fn has_bytes(&self, text: &str) -> bool {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().any(|body| body.windows(text.len()).any(|window| window == text.as_bytes()))
    }
}

impl Span {
    fn of(message: &Message) -> Self {
        let attribute = |attribute: &Message| {
            let value = attribute.messages(2).remove(0);
            let text = value.fields.iter().map(|(_, field)| match field {
                Field::Number(number) => number.to_string(),
                Field::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            });
            (attribute.text(1), text.collect())
        };
        Span {
            trace: hex(message.bytes(1)),
            id: hex(message.bytes(2)),
            parent: hex(message.bytes(4)),
            name: message.text(5),
            kind: message.number(6),
            attributes: message.messages(9).iter().map(attribute).collect(),
        }
    }
}

/// A message of protocol buffers: fields by number, in their order.
struct Message {
    fields: Vec<(u64, Field)>,
}

enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = variable_length(&mut bytes);
            let length = match tag & 7 {
                0 => {
                    fields.push((tag >> 3, Field::Number(variable_length(&mut bytes))));
                    continue;
                }
                1 => 8,
                2 => variable_length(&mut bytes) as usize,
                5 => 4,
                other => panic!("wire type {other}"),
            };
            let (value, rest) = bytes.split_at(length);
            fields.push((tag >> 3, Field::Bytes(value.to_vec())));
            bytes = rest;
        }
        Message { fields }
    }

    fn all_bytes(&self, number: u64) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().filter_map(move |(found, field)| match field {
            Field::Bytes(bytes) if *found == number => Some(&bytes[..]),
            _ => None,
        })
    }

    fn messages(&self, number: u64) -> Vec<Message> {
        self.all_bytes(number).map(Message::read).collect()
    }

    fn bytes(&self, number: u64) -> &[u8] {
        self.all_bytes(number).next().unwrap_or_default()
    }

    fn text(&self, number: u64) -> String {
        String::from_utf8(self.bytes(number).to_vec()).unwrap()
    }

    fn number(&self, number: u64) -> u64 {
        let number = self.fields.iter().find_map(|(found, field)| match field {
            Field::Number(value) if *found == number => Some(*value),
            _ => None,
        });
        number.unwrap_or_default()
    }
}

fn variable_length(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
