//! Counters of a connection and of its paths, for metrics.

/// Passes the counters that only a sender knows, with their meaning, to the macro `$define`. This
/// list is the only place that a new counter needs beside the code that counts: the fields of
/// [`Counters`], the metrics of results and their JSON follow from it, in this order.
#[macro_export]
macro_rules! sender_counters {
    ($define:ident) => {
        $define! {
            /// Retransmissions that were tail loss probes (RFC 8985 §7; MPTCP and TCP).
            tail_probes,
            /// Expired retransmission timers.
            timeouts,
            /// Spurious timeouts: data arrived that was never retransmitted (F-RTO, RFC 5682; MPTCP
            /// and TCP).
            spurious_timeouts,
            /// Reports of duplicates (D-SACK, RFC 2883; MPTCP and TCP).
            duplicate_reports,
            /// Acknowledgements that report a packet that was sent once and arrived after a later
            /// packet of its path (MPTCP and TCP).
            reorderings,
            /// Reductions of a congestion window that turned out to be unnecessary and were undone
            /// (MPTCP and TCP).
            undone_reductions,
            /// Decisions of the scheduler other than to wait.
            decisions,
            /// Decisions to wait.
            waits,
        }
    };
}

macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident,)+) => {
        /// Amounts of data at one moment.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counters {
            /// Retransmissions of segments that were declared lost.
            pub retransmissions: u64,
            /// Copies sent because the scheduler asked.
            pub reinjections: u64,
            /// Segments that arrived again although they had arrived, as the peer reported.
            pub spurious_retransmissions: u64,
            $($(#[$doc])* pub $counter: u64,)+
        }

        impl core::ops::AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                self.retransmissions += other.retransmissions;
                self.reinjections += other.reinjections;
                self.spurious_retransmissions += other.spurious_retransmissions;
                $(self.$counter += other.$counter;)+
            }
        }

        impl core::ops::Sub for Counters {
            type Output = Self;

            /// The growth since `earlier`.
            fn sub(self, earlier: Self) -> Self {
                Self {
                    retransmissions: self.retransmissions - earlier.retransmissions,
                    reinjections: self.reinjections - earlier.reinjections,
                    spurious_retransmissions: self.spurious_retransmissions
                        - earlier.spurious_retransmissions,
                    $($counter: self.$counter - earlier.$counter,)+
                }
            }
        }
    };
}

sender_counters!(counters);
