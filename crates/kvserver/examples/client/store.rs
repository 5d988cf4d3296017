//! A connection to a server, and a session of our store on one. They block: what they measure is the
//! server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use wire::kv::{
    Body, Checksums, Decoder, Hello, Item, Kind, Opening, Status, encode_hello, encode_item,
};

/// The view of a server that is alone.
const VIEW: u32 = 1;

pub(super) struct Stream {
    socket: TcpStream,
    pub(super) out: Vec<u8>,
    buffer: Vec<u8>,
}

impl Stream {
    pub(super) fn to(address: SocketAddr) -> Stream {
        let socket = TcpStream::connect(address).expect("the server listens");
        socket.set_nodelay(true).expect("an option of TCP");
        Stream { socket, out: Vec::new(), buffer: vec![0; 256 << 10] }
    }

    pub(super) fn send(&mut self) {
        self.socket.write_all(&self.out).expect("the server reads");
        self.out.clear();
    }

    pub(super) fn read(&mut self) -> &[u8] {
        let count = self.socket.read(&mut self.buffer).expect("the server answers");
        assert!(0 < count, "the server has closed the connection");
        &self.buffer[..count]
    }
}

/// A session of our store.
pub(super) struct Store {
    stream: Stream,
    decoder: Decoder,
    items: Vec<u8>,
    count: usize,
    /// The serial of the next operation.
    serial: u64,
    /// The operations without a result.
    outstanding: usize,
}

impl Store {
    pub(super) fn greet(address: SocketAddr) -> Store {
        let hello = Hello::new(1);
        let mut stream = Stream::to(address);
        encode_hello(&hello, &mut stream.out);
        stream.send();
        let (decoder, items) = (Decoder::default(), Vec::new());
        // WELCOME counts as a result.
        let mut store = Store { stream, decoder, items, count: 0, serial: 1, outstanding: 1 };
        store.receive(&mut |_, _, _| {});
        store
    }

    /// Appends an operation to the next frame.
    pub(super) fn push(&mut self, item: &Item<'_>) {
        encode_item(item, &mut self.items);
        self.count += 1;
    }

    /// The serial of the next frame's first operation.
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// The bytes of the operations of the next frame.
    pub(super) fn bytes(&self) -> usize {
        self.items.len()
    }

    pub(super) fn send(&mut self) {
        let out = &mut self.stream.out;
        let frame = Opening::begin(Kind::Request, VIEW, self.serial, Checksums::On, out);
        out.extend_from_slice(&self.items);
        frame.finish(self.count, out);
        self.serial += self.count as u64;
        self.outstanding += std::mem::take(&mut self.count);
        self.items.clear();
        self.stream.send();
    }

    /// Receives the results of all operations that were sent; `each` gets their serial, status and value.
    pub(super) fn receive(&mut self, each: &mut dyn FnMut(u64, Status, &[u8])) {
        while 0 < self.outstanding {
            let Store { stream, decoder, outstanding, .. } = self;
            let mut bytes = stream.read();
            while let Some(frame) = decoder.next(&mut bytes).expect("frames of this version") {
                match frame.body {
                    Body::Welcome(_) => *outstanding -= 1,
                    Body::Reply(answers) => {
                        let answered = (frame.header.serial..).zip(answers);
                        for (serial, answer) in
                            answered.filter(|(_, answer)| answer.status != Status::Pending)
                        {
                            each(serial, answer.status, answer.value);
                            *outstanding -= 1;
                        }
                    }
                    Body::Completions(ends) => {
                        for end in ends {
                            each(end.serial, end.answer.status, end.answer.value);
                            *outstanding -= 1;
                        }
                    }
                    Body::Durable(_) => {}
                    other => panic!("the server sends {other:?}"),
                }
            }
        }
    }
}
