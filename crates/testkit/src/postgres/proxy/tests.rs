//! A server that answers at once, and what the proxy counts of its clients.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::{CountingProxy, Messages, STARTUP_PROTOCOL, Traffic, read_startup};

fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32 + 4).to_be_bytes();
    [&[kind][..], &length, content].concat()
}

/// Returns a server that answers every simple query and every Sync at once, with one completed statement.
fn quick_server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            std::thread::spawn(move || answer_all(client.unwrap()));
        }
    });
    port
}

fn answer_all(mut client: TcpStream) {
    read_startup(&mut client).unwrap();
    client.write_all(&[message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), message(b'Z', b"I")].concat()).unwrap();
    let mut messages = Messages::default();
    while let Ok(Some((_, types))) = messages.read(&mut client) {
        for _ in types.iter().filter(|kind| matches!(kind, b'Q' | b'S')) {
            client.write_all(&[message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat()).unwrap();
        }
    }
}

struct Client(TcpStream);

impl Client {
    fn connect(proxy: &CountingProxy) -> Self {
        let mut client = Client(TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap());
        let startup = [&8_i32.to_be_bytes()[..], &STARTUP_PROTOCOL.to_be_bytes()].concat();
        client.0.write_all(&startup).unwrap();
        client.wait_for(1);
        client
    }

    fn send(&mut self, queries: usize) {
        self.0.write_all(&message(b'Q', b"SELECT 1\0").repeat(queries)).unwrap();
    }

    /// Reads until so many batches have been answered.
    fn wait_for(&mut self, mut answers: usize) {
        while answers > 0 {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            self.0.read_exact(&mut vec![0; length - 4]).unwrap();
            answers -= usize::from(head[0] == b'Z');
        }
    }
}

#[test]
fn batches_sent_without_waiting_are_one_round_trip() {
    let proxy = CountingProxy::start(quick_server());
    let mut client = Client::connect(&proxy);
    proxy.begin_window();
    client.send(3);
    client.wait_for(3);
    assert_eq!(proxy.traffic(), Traffic { round_trips: 1, batches: 3, statements: 3 });
    client.send(1);
    client.wait_for(1);
    client.send(2);
    client.wait_for(2);
    assert_eq!(proxy.traffic(), Traffic { round_trips: 3, batches: 6, statements: 6 });
}

#[test]
fn a_batch_that_follows_an_answer_of_another_connection_has_waited_for_it() {
    let proxy = CountingProxy::start(quick_server());
    let (mut one, mut other) = (Client::connect(&proxy), Client::connect(&proxy));
    proxy.begin_window();
    one.send(1);
    one.wait_for(1);
    other.send(1);
    other.wait_for(1);
    assert_eq!(proxy.traffic().round_trips, 2);
    proxy.begin_window();
    one.send(1);
    other.send(1);
    one.wait_for(1);
    other.wait_for(1);
    assert_eq!(proxy.traffic(), Traffic { round_trips: 1, batches: 2, statements: 2 });
}

#[test]
fn a_new_connection_is_a_round_trip() {
    let proxy = CountingProxy::start(quick_server());
    proxy.begin_window();
    Client::connect(&proxy);
    assert_eq!(proxy.traffic(), Traffic { round_trips: 1, batches: 1, statements: 0 });
}

#[test]
fn an_answer_to_a_batch_of_an_earlier_window_does_not_count() {
    let proxy = CountingProxy::start(quick_server());
    let mut client = Client::connect(&proxy);
    client.send(1);
    // The answer is held longer than this takes.
    while proxy.quiet_for() > super::HELD {
        std::thread::yield_now();
    }
    proxy.begin_window();
    client.wait_for(1);
    assert_eq!(proxy.traffic(), Traffic::default());
}
