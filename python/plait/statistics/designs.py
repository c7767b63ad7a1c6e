"""Space-filling designs: few points that represent a domain of many dimensions.

The dimensions are, for example, link parameters. A design is an array with one row per point and
one column per factor, each value from 0 to 1; `axes` stretches it to the factors' ranges. Sobol's
sequences, Latin hypercubes and discrepancies are SciPy's. The WSP selection, for which no
maintained Python library is known, is here.

Sources: M. Sergent, "Contribution de la méthodologie de la recherche expérimentale à l'élaboration
de matrices uniformes", thesis, Aix-Marseille 1989; J. Santiago, M. Claeys-Bruno, M. Sergent,
"Construction of space-filling designs using WSP algorithm for high dimensional spaces",
Chemometrics and Intelligent Laboratory Systems 113, 2012; C. Paasch, R. Khalili, O. Bonaventure,
"On the Benefits of Applying Experimental Design to Improve Multipath TCP", CoNEXT 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import qmc

from plait._core import ScenarioError

Design = NDArray[np.float64]
"""One row per point, one column per factor, values from 0 to 1."""

CANDIDATES = 14
"""The number of WSP candidates is two to this power: 16 384 points of Sobol's sequence."""
HALVINGS = 40
"""Steps of the search for the distance that leaves the requested number of points."""


def wsp(points: int, factors: int) -> Design:
    """Return a design by the algorithm of Wootton, Sergent and Phan-Tan-Luu; it is deterministic.

    The algorithm starts at the candidate nearest to the centre of a dense set. It drops all
    candidates closer to it than a distance d, goes on with the nearest remaining one, and ends when
    none remains. So no two points are closer than d, and no candidate is farther than d from a
    point. A search finds the d that leaves `points` points. If no d leaves exactly this number, the
    next larger design is used, without the points that are closest to others.

    Raises:
        ScenarioError: fewer than two points, or more points than candidates.
    """
    _check(points, factors)
    if points > 2**CANDIDATES:
        message = f"design: expected at most {2**CANDIDATES} points, got {points}"
        raise ScenarioError(message)
    candidates = qmc.Sobol(factors, scramble=False).random_base2(CANDIDATES)
    start = _from_centre(candidates)
    low, high = 0.0, float(np.sqrt(factors))
    best = np.arange(len(candidates))
    for _ in range(HALVINGS):
        distance = (low + high) / 2
        chosen = _select(candidates, start, distance)
        if len(chosen) >= points:
            low = distance
            if len(chosen) <= len(best):
                best = chosen
            if len(chosen) == points:
                break
        else:
            high = distance
    return _thin(candidates[best], points)


def latin_hypercube(points: int, factors: int, seed: int = 1) -> Design:
    """Return a random Latin hypercube.

    Each factor's range has as many slices as there are points, with one point per slice.
    """
    _check(points, factors)
    return np.asarray(qmc.LatinHypercube(factors, rng=np.random.default_rng(seed)).random(points))


def uniform(points: int, factors: int, seed: int = 1) -> Design:
    """Return independent random points."""
    _check(points, factors)
    return np.random.default_rng(seed).random((points, factors))


def sobol(points: int, factors: int, seed: int = 1) -> Design:
    """Return the first points of Sobol's sequence, scrambled (Owen).

    They are most even if their number is a power of two.
    """
    _check(points, factors)
    sequence = qmc.Sobol(factors, rng=np.random.default_rng(seed))
    return np.asarray(sequence.random_base2((points - 1).bit_length())[:points])


DESIGNS: Mapping[str, Callable[[int, int, int], Design]] = {
    "wsp": lambda points, factors, _seed: wsp(points, factors),
    "latin-hypercube": latin_hypercube,
    "sobol": sobol,
    "uniform": uniform,
}
"""The designs by the names in plans and papers; arguments: points, factors, seed (ignored by
WSP)."""


@dataclass(frozen=True)
class Uniformity:
    """Measures of the evenness of a design in the unit cube.

    minimum_distance: between the two closest points; larger is better. coverage: standard deviation
    of the distances to the nearest neighbour over their mean; 0 is a regular grid, smaller is
    better. discrepancy: centred L2 discrepancy (Hickernell); smaller is better. fill_distance:
    largest distance of a place in the cube to its nearest point, by 2^14 places; smaller is better.
    """

    minimum_distance: float
    coverage: float
    discrepancy: float
    fill_distance: float


def uniformity(design: Design) -> Uniformity:
    """Measure how evenly a design fills the unit cube."""
    tree = cKDTree(design)
    nearest = _nearest_neighbours(design)
    places = qmc.Sobol(design.shape[1], scramble=False).random_base2(CANDIDATES)
    return Uniformity(
        minimum_distance=float(nearest.min()),
        coverage=float(nearest.std() / nearest.mean()),
        discrepancy=float(qmc.discrepancy(design, method="CD")),
        fill_distance=float(np.max(tree.query(places)[0])),
    )


def _check(points: int, factors: int) -> None:
    if points < 2 or factors < 1:
        message = f"design: expected at least 2 points and 1 factor, got {points} and {factors}"
        raise ScenarioError(message)


def _nearest_neighbours(design: Design) -> Design:
    """Return each point's distance to the nearest other point."""
    return np.asarray(cKDTree(design).query(design, k=2)[0])[:, 1]


def _from_centre(candidates: Design) -> int:
    """Return the candidate nearest to the centre."""
    return int(np.argmin(np.sum((candidates - 0.5) ** 2, axis=1)))


def _select(candidates: Design, start: int, distance: float) -> NDArray[np.intp]:
    """Return the candidates that WSP keeps, in the order of their selection."""
    left = np.arange(len(candidates))
    current, chosen = start, [start]
    while True:
        apart = np.sum((candidates[left] - candidates[current]) ** 2, axis=1)
        keep = apart >= distance**2
        keep &= left != current
        left, apart = left[keep], apart[keep]
        if len(left) == 0:
            return np.asarray(chosen)
        current = int(left[np.argmin(apart)])
        chosen.append(current)


def _thin(design: Design, points: int) -> Design:
    """Drop one of the two closest points until `points` are left."""
    while len(design) > points:
        design = np.delete(design, int(np.argmin(_nearest_neighbours(design))), axis=0)
    return design
