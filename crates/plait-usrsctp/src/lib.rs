//! CMT-SCTP of FreeBSD over the simulator's links: the engine `usrsctp`.
//!
//! usrsctp is FreeBSD's SCTP stack as a library. Our patches (`usrsctp/patches`) give it a virtual
//! clock, exact timers, an interface per path and random numbers that follow from a seed. A small
//! program (`usrsctp/host`) has both ends of one association in one stack. The stack's state is
//! global, so each run has a process of its own.
//!
//! The simulation drives the process in lockstep: [`Stack`] is a
//! [`Carrier`](plait_sim::simulation::Carrier) that replaces the simulated ends. Each request has
//! a time and perhaps a packet that arrives. The answer has the packets that leave, the bytes that
//! the receiver's application read, and the time of the next timer. Application, links, competing
//! flows and recorder are the simulator's.
//!
//! ```text
//! application ──► Stack::write ────────► process: sendv ──► stack ──► SENT ──► Datagram ──► links
//! recorder    ◄── StackEvent ◄── DATA chunks, DELIVERED ◄── stack ◄── PACKET ◄── arrived ◄──┘
//! ```
//!
//! A *segment* of the stream is a DATA chunk. The application writes messages that fill a chunk, so
//! a segment is a whole message, as in the simulator. The association is opened before the clock
//! starts, over the paths' delays alone, until all paths are confirmed by HEARTBEATs. The near end
//! sends. Handshake, SACKs and HEARTBEATs are the stack's own and take their time on the links.
//!
//! The stack's own scheduler takes turns. With any other one, the process asks for each decision, with
//! the structs of `plait_sched.h` as facts, and the scheduler is the simulator's own code.
//!
//! [`refusal`] names unsupported features. `settings` has the settings of the stack that follow
//! from a scenario.
//!
//! | file | content |
//! |---|---|
//! | `settings` | a scenario's settings of the stack; refusals |
//! | `decisions` | the scheduler that decides instead of the stack's turns |
//! | `process` | the process, and the protocol with it |
//! | `packet` | addresses and DATA chunks of the stack's packets |
//! | `segments` | the segments' transmissions, arrivals and deliveries, as events |
//! | `opening` | the handshake before the clock starts |
//! | `stack` | the carrier |

mod decisions;
mod opening;
mod packet;
mod process;
mod segments;
mod settings;
mod stack;

pub use decisions::OFFERED;
pub use process::ProcessError;
pub use settings::{refusal, takes_turns};
pub use stack::Stack;
