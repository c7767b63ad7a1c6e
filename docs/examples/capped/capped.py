"""The open path with the shortest round trip, with at most `share` of its congestion window in flight."""

import plait


class Capped(plait.Scheduler):
    """The shortest open path, with a share of its window in flight."""

    def __init__(self, share: float = 1.0) -> None:
        if share <= 0:
            message = f"share is {share}: more than 0"
            raise ValueError(message)
        self.share = share

    def decide(self, _now, _connection, paths):
        """Assign a segment, or wait."""
        below = [
            path
            for path in paths
            if path.open and path.in_flight + path.queued < max(self.share * path.cwnd, 1)
        ]
        if not below:
            return plait.Wait()
        # Of paths that are equally short, the first one.
        return plait.Assign(min(below, key=lambda path: path.srtt or 0).index)
