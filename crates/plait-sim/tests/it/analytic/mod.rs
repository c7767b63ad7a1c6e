//! Runs with a result that follows from a formula.

mod additive;
mod bbr;
mod blocking;
mod calls;
mod capacity;
mod changes;
mod controls;
mod deadlines;
mod delay;
mod fairness;
mod files;
mod joining;
mod one_way;
mod quic;
mod redundant;
mod requests;
mod response;
mod slow_links;
mod slow_start;
mod tcp;
mod timers;
mod topology;
mod traces;
