//! CMT-SCTP as short scripts in virtual time: each test controls some packets, and checks the
//! reaction of both ends.

mod accounting;
mod acknowledgements;
mod copies;
mod cost;
mod duplex;
mod fast_retransmit;
mod flow_control;
mod growth;
mod hostile;
mod images;
mod limits;
mod lost_acknowledgements;
mod messages;
mod mpquic;
mod mpquic_ecn;
mod mpquic_pacing;
mod mptcp;
mod path_failure;
mod policies;
mod recall;
mod reinjection;
mod replacement;
mod round_trips;
mod scheduler_faults;
mod stream;
mod timeouts;
mod uncarried;
