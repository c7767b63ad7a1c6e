//! The links between UDP sockets on loopback addresses: no namespaces, no interfaces, any user.
//!
//! Path i is between 127.77.i.2, which a program binds, and 127.77.i.1. A program that sends to
//! 127.77.255.1 uses the path of its own source address, as if one server address were behind
//! several uplinks. Each client has a socket of its own, from which its packets go to the target.
//! Answers come back over the same path.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::process::Command;

use plait_sched::Duration;
use plait_sim::scenario::{Direction, Scenario};

use crate::command::{Outcome, await_child, counters};
use crate::driver::{Clock, Ports, Received};
use crate::error::Error;
use crate::plan::PathAddresses;
use crate::relay::{Arrival, Relay};
use crate::system::{self, Signals};

/// The address that is reachable over every path.
pub const PEER: Ipv4Addr = Ipv4Addr::new(127, 77, 255, 1);

/// Size of the IP and UDP headers, which the links carry and sockets never show.
const HEADERS: u32 = 28;

/// Bytes of the client number in front of each packet in the relay.
const NUMBER: usize = 4;

/// Largest number of clients. Packets of further clients are dropped.
const MAX_CLIENTS: usize = 1024;

/// Returns the ends of a scenario's paths on loopback.
pub fn path_addresses(scenario: &Scenario) -> Vec<PathAddresses> {
    let paths = scenario.paths.iter().enumerate();
    let ends = paths.map(|(index, path)| PathAddresses {
        path: path.name.clone(),
        interface: "lo".to_owned(),
        near: Ipv4Addr::new(127, 77, index as u8, 2),
        far: Ipv4Addr::new(127, 77, index as u8, 1),
    });
    ends.collect()
}

/// A sender of packets to one of our addresses.
#[derive(Debug)]
struct Client {
    path: usize,
    address: SocketAddr,
    /// Index of our socket that receives the client's packets and sends its answers.
    listener: usize,
    /// Socket that exchanges the client's packets with the target.
    target_socket: UdpSocket,
}

/// The sockets: one per path, one for all, one per client.
#[derive(Debug)]
pub struct Sockets {
    target: SocketAddr,
    listeners: Vec<UdpSocket>,
    clients: Vec<Client>,
    buffer: Vec<u8>,
}

impl Sockets {
    /// Listens for `paths` paths, all on the same port; 0 is any free port.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn new(paths: usize, target: SocketAddr, port: u16) -> io::Result<Self> {
        let attempts = if port == 0 { 16 } else { 1 };
        let mut listeners = listen(paths, port);
        for _ in 1..attempts {
            if listeners.is_err() {
                listeners = listen(paths, port);
            }
        }
        Ok(Self { target, listeners: listeners?, clients: Vec::new(), buffer: vec![0; NUMBER + 65_535] })
    }

    /// Returns the port of all paths.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listeners[0].local_addr()?.port())
    }

    fn paths(&self) -> usize {
        self.listeners.len() - 1
    }

    /// Returns the number of the client at `address`, and registers a new client if there is room.
    fn client(&mut self, listener: usize, address: SocketAddr) -> Option<u32> {
        let known = |one: &Client| one.listener == listener && one.address == address;
        if let Some(number) = self.clients.iter().position(known) {
            return Some(number as u32);
        }
        let path = if listener < self.paths() { listener } else { path_of(address)? };
        if path >= self.paths() || self.clients.len() == MAX_CLIENTS {
            return None;
        }
        let any: IpAddr = if self.target.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            std::net::Ipv6Addr::UNSPECIFIED.into()
        };
        let target_socket = UdpSocket::bind((any, 0)).ok()?;
        target_socket.connect(self.target).ok()?;
        target_socket.set_nonblocking(true).ok()?;
        self.clients.push(Client { path, address, listener, target_socket });
        Some((self.clients.len() - 1) as u32)
    }
}

/// Returns the path of a client that chose it by its own address.
fn path_of(address: SocketAddr) -> Option<usize> {
    match address.ip() {
        IpAddr::V4(address) => match address.octets() {
            [127, 77, path, _] => Some(usize::from(path)),
            _ => None,
        },
        IpAddr::V6(_) => None,
    }
}

fn listen(paths: usize, port: u16) -> io::Result<Vec<UdpSocket>> {
    let all = UdpSocket::bind((PEER, port))?;
    let port = all.local_addr()?.port();
    let each = (0..paths).map(|path| UdpSocket::bind((Ipv4Addr::new(127, 77, path as u8, 1), port)));
    let mut sockets = each.collect::<io::Result<Vec<_>>>()?;
    sockets.push(all);
    for socket in &sockets {
        socket.set_nonblocking(true)?;
    }
    Ok(sockets)
}

impl Ports for Sockets {
    fn descriptors(&self) -> Vec<RawFd> {
        let clients = self.clients.iter().map(|client| &client.target_socket);
        self.listeners.iter().chain(clients).map(AsRawFd::as_raw_fd).collect()
    }

    fn len(&self) -> usize {
        self.listeners.len() + self.clients.len()
    }

    fn receive(&mut self, index: usize) -> io::Result<Option<Received<'_>>> {
        let (length, number, direction) = if let Some(listener) = self.listeners.get(index) {
            let Ok((length, address)) = listener.recv_from(&mut self.buffer[NUMBER..]) else {
                return Ok(None);
            };
            let Some(number) = self.client(index, address) else { return Ok(None) };
            (length, number, Direction::Forward)
        } else {
            let number = index - self.listeners.len();
            // The target may not listen yet, and causes this error.
            let Ok(length) = self.clients[number].target_socket.recv(&mut self.buffer[NUMBER..]) else {
                return Ok(None);
            };
            (length, number as u32, Direction::Backward)
        };
        self.buffer[..NUMBER].copy_from_slice(&number.to_be_bytes());
        let path = self.clients[number as usize].path;
        let content = &self.buffer[..NUMBER + length];
        Ok(Some(Received { path, direction, bytes: length as u32 + HEADERS, content }))
    }

    fn deliver(&mut self, arrival: &Arrival<'_>) {
        let Some((number, datagram)) = arrival.content.split_first_chunk::<NUMBER>() else { return };
        let client = &self.clients[u32::from_be_bytes(*number) as usize];
        // A datagram that the socket does not accept is lost, as UDP allows.
        let _ = match arrival.direction {
            Direction::Forward => client.target_socket.send(datagram),
            Direction::Backward => self.listeners[client.listener].send_to(datagram, client.address),
        };
    }
}

/// Relays between loopback and `sockets`' target while `command` runs, or without a command until
/// an interrupt.
///
/// # Errors
/// If the command does not start, or the system fails.
pub fn run(
    scenario: &Scenario,
    sockets: &mut Sockets,
    command: Option<&mut Command>,
    spin: Duration,
) -> Result<Outcome, Error> {
    let signals = Signals::new().map_err(|error| Error::system("waiting for signals", error))?;
    let mut relay = Relay::new(scenario);
    let child = match command {
        Some(command) => {
            system::prepare(command, None);
            let name = command.get_program().display().to_string();
            Some(command.spawn().map_err(|error| Error::Input(format!("{name}: {error}")))?)
        }
        None => None,
    };
    let status = await_child(&mut relay, sockets, Clock::start(), spin, &signals, child)?;
    Ok(Outcome { status, counters: counters(scenario, &relay) })
}
