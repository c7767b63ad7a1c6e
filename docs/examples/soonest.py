"""A scheduler of one's own."""

import plait


class Soonest(plait.Scheduler):
    """Use a slower path only if the fastest one would deliver all unassigned data later."""

    def decide(self, _now, connection, paths):
        """Assign segments to one path, or wait."""
        usable = [path for path in paths if path.usable]
        unmeasured = [path for path in usable if path.open and path.srtt is None]
        if unmeasured:  # nothing is known of it: send something, to learn
            return plait.Assign(unmeasured[0].index)
        known = [path for path in usable if path.srtt is not None]
        if not known:
            return plait.Wait()
        fast = min(known, key=lambda path: path.srtt)
        if fast.open:
            return plait.Assign(fast.index, fast.room)
        open_paths = [path for path in known if path.open]
        if not open_paths:
            return plait.Wait()
        slow = min(open_paths, key=lambda path: path.srtt)
        left = min(connection.unassigned, connection.window_left)
        if fast.srtt * (1 + left / max(fast.cwnd, 1)) < slow.srtt:
            return plait.Wait()  # in that time the fast path carries all unassigned data
        return plait.Assign(slow.index)
