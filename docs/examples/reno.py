"""The built-in controller `newreno` as classes: that of TCP and QUIC, and that of SCTP."""

import plait


class Reno(plait.CongestionController):
    """TCP's (RFC 5681), as `crates/plait-transport/src/congestion/reno.rs` without HyStart++."""

    def __init__(self):
        self.credit = 0  # acknowledged bytes that have not grown the window yet
        self.timed_out = False  # nothing was acknowledged since a timeout
        self.after_timeout = False  # slow start follows a timeout

    def on_ack(self, ack):
        """Grow the window."""
        if not ack.may_grow:
            return
        self.timed_out = False
        rest = self.slow_start(ack)
        if rest and (ack.limited or ack.in_flight + self.segment > self.window):
            self.credit += min(rest, self.window)
            if self.credit >= self.window:
                self.credit -= self.window
                self.window += self.segment

    def slow_start(self, ack):
        """Return the bytes that are left to congestion avoidance."""
        if self.threshold is not None and self.window >= self.threshold:
            self.after_timeout = False
            return ack.bytes
        if ack.in_flight < self.window // 2 and not ack.limited:
            return 0
        step = min(ack.bytes, (1 if self.after_timeout else 2) * self.segment)
        grown = step if self.threshold is None else min(step, self.threshold - self.window)
        self.window += grown
        return step - grown

    def on_event(self, event):
        """Reduce or restore the window."""
        if event.kind in ("loss", "mark"):
            self.threshold = self.window = self.half(event)
            self.timed_out = self.after_timeout = False
            self.credit = 0
        elif event.kind == "timeout":
            if not self.timed_out:
                self.threshold = self.half(event)
            self.window = self.segment
            self.timed_out = self.after_timeout = True
            self.credit = 0
        elif event.kind == "collapse":
            self.window = max(event.window, self.segment)
        elif event.kind == "undone":
            self.window = max(self.window, event.window)
            known = None not in (self.threshold, event.threshold)
            self.threshold = max(self.threshold, event.threshold) if known else None
        elif event.kind == "penalty":
            if self.threshold is not None and self.window >= self.threshold:
                self.threshold = max(self.threshold // 2, 2 * self.segment)
            self.window = max(self.window // 2, self.segment)
            self.credit = 0
        elif event.kind == "idle":
            self.window = min(self.window, self.initial_window)

    def half(self, event):
        """Return half of the used window, two segments at least."""
        return max(min(event.outstanding, self.window) // 2, 2 * self.segment)


class SctpReno(plait.CongestionController):
    """SCTP's (RFC 9260 §7.2), as `crates/plait-transport/src/congestion/newreno.rs`."""

    def __init__(self):
        self.partial_bytes_acked = 0

    def on_ack(self, ack):
        """Grow the window."""
        if not ack.may_grow:
            return
        full = ack.in_flight >= self.window
        if self.threshold is None or self.window <= self.threshold:
            self.window += min(ack.bytes, self.segment) if full else 0
            return
        self.partial_bytes_acked += ack.bytes
        if self.partial_bytes_acked < self.window:
            return
        if full:
            self.partial_bytes_acked -= self.window
            self.window += self.segment
        else:
            self.partial_bytes_acked = self.window

    def on_event(self, event):
        """Reduce or restore the window."""
        half = max(self.window // 2, 4 * self.segment)
        if event.kind in ("loss", "mark", "timeout"):
            self.threshold = half
            self.window = self.segment if event.kind == "timeout" else half
            self.partial_bytes_acked = 0
        elif event.kind == "penalty":
            if self.threshold is not None and self.window > self.threshold:
                self.threshold = half
            self.window = max(self.window // 2, self.segment)
        elif event.kind == "idle":
            self.window = min(self.window, half)
        elif event.kind == "drained":
            self.partial_bytes_acked = 0
