//! The few rtnetlink messages that set up interfaces, addresses, routes and rules, without the
//! program `ip`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;

use crate::system;

/// A socket of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: File,
    sequence: u32,
}

/// A route to one address, or the default route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Destination; `None` is the default route.
    pub to: Option<Ipv4Addr>,
    /// Index of the interface.
    pub interface: u32,
    /// Source address of packets that have not chosen one.
    pub source: Ipv4Addr,
    /// The route with the smallest metric wins.
    pub metric: u32,
    /// Routing table of the route.
    pub table: u8,
}

/// The routing table that is used without rules.
pub const MAIN: u8 = libc::RT_TABLE_MAIN;

/// A message under construction.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn new(kind: u16, flags: i32, header: &[u8]) -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(header);
        Self { bytes }
    }

    fn attribute(mut self, kind: u16, content: &[u8]) -> Self {
        self.bytes.extend((4 + content.len() as u16).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }
}

const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
const V4: u8 = libc::AF_INET as u8;

impl Netlink {
    /// Opens a socket for this thread's network namespace.
    ///
    /// # Errors
    /// If the system has no such sockets, or forbids them.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: File::from(system::netlink()?), sequence: 0 })
    }

    /// Sets an interface up. `sizes` changes its MTU and the length of its queue.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn set_up(&mut self, interface: u32, sizes: Option<(u32, u32)>) -> io::Result<()> {
        let mut header = vec![0; 4];
        header.extend(interface.to_ne_bytes());
        header.extend((libc::IFF_UP as u32).to_ne_bytes());
        header.extend((libc::IFF_UP as u32).to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWLINK, 0, &header);
        if let Some((mtu, queue)) = sizes {
            message = message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
            message = message.attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
        }
        self.ask(message)
    }

    /// Gives an interface an address.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn add_address(&mut self, interface: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut header = vec![V4, prefix, 0, libc::RT_SCOPE_UNIVERSE];
        header.extend(interface.to_ne_bytes());
        let message = Message::new(libc::RTM_NEWADDR, CREATE, &header)
            .attribute(libc::IFA_LOCAL, &address.octets())
            .attribute(libc::IFA_ADDRESS, &address.octets());
        self.ask(message)
    }

    /// Adds a route.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn add_route(&mut self, route: &Route) -> io::Result<()> {
        let bits = if route.to.is_some() { 32 } else { 0 };
        let (protocol, scope, kind) = (libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
        let header = [V4, bits, 0, 0, route.table, protocol, scope, kind, 0, 0, 0, 0];
        let mut message = Message::new(libc::RTM_NEWROUTE, CREATE, &header)
            .attribute(libc::RTA_OIF, &route.interface.to_ne_bytes())
            .attribute(libc::RTA_PREFSRC, &route.source.octets())
            .attribute(libc::RTA_PRIORITY, &route.metric.to_ne_bytes());
        if let Some(to) = route.to {
            message = message.attribute(libc::RTA_DST, &to.octets());
        }
        self.ask(message)
    }

    /// Adds a rule: packets from `source` use `table` first.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn add_rule(&mut self, source: Ipv4Addr, table: u8) -> io::Result<()> {
        /// `FR_ACT_TO_TBL` and `FRA_SRC` of linux/fib_rules.h.
        const TO_TABLE: u8 = 1;
        const SOURCE: u16 = 2;
        let header = [V4, 0, 32, 0, table, 0, 0, TO_TABLE, 0, 0, 0, 0];
        self.ask(Message::new(libc::RTM_NEWRULE, CREATE, &header).attribute(SOURCE, &source.octets()))
    }

    /// Sends a message and reads the kernel's answer to it.
    fn ask(&mut self, message: Message) -> io::Result<()> {
        self.sequence += 1;
        let mut bytes = message.bytes;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        self.socket.write_all(&bytes)?;
        let mut answer = [0; 4096];
        let length = self.socket.read(&mut answer)?;
        // After the header of 16 bytes: 0, or a negative errno.
        let code =
            answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
        match code {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
