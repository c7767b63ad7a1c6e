//! MPTCP, and TCP as the special case of one path.

mod ack_delay;
mod asking;
mod bbr;
mod bursts;
mod committed;
mod delays;
mod ecn;
mod failure;
mod grant;
mod handshake;
mod hostile;
mod linux;
mod recovery;
mod reinjection;
mod reordering;
mod send_buffer;
mod window;
