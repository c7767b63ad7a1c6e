import numpy as np
import pytest

from plait import ScenarioError
from plait.statistics import designs


@pytest.mark.parametrize(("points", "factors"), [(2, 1), (20, 2), (200, 6)])
def test_wsp_gives_as_many_points_as_asked_for_always_the_same(points: int, factors: int) -> None:
    design = designs.wsp(points, factors)
    assert design.shape == (points, factors)
    assert design.min() >= 0
    assert design.max() <= 1
    assert np.array_equal(design, designs.wsp(points, factors))


def test_wsp_fills_the_space_more_evenly_than_chance_does() -> None:
    wsp = designs.uniformity(designs.wsp(200, 6))
    for seed in range(1, 6):
        for other in (designs.latin_hypercube(200, 6, seed), designs.uniform(200, 6, seed)):
            measured = designs.uniformity(other)
            assert wsp.minimum_distance > 2 * measured.minimum_distance
            assert wsp.coverage < 0.2 * measured.coverage
            assert wsp.fill_distance < measured.fill_distance


def test_wsp_keeps_its_distances() -> None:
    """By definition no two points are closer than d, and no candidate is farther than d."""
    candidates = np.random.default_rng(7).random((500, 3))
    chosen = candidates[designs._select(candidates, designs._from_centre(candidates), 0.3)]
    apart = np.linalg.norm(chosen[:, None] - chosen[None], axis=2)
    assert apart[~np.eye(len(chosen), dtype=bool)].min() >= 0.3
    assert np.linalg.norm(candidates[:, None] - chosen[None], axis=2).min(axis=1).max() < 0.3


def test_what_is_too_many_is_thinned_where_points_are_closest() -> None:
    line = np.array([[0.0], [0.1], [0.5], [1.0]])
    assert designs._thin(line, 3)[:, 0].tolist() in ([0.1, 0.5, 1.0], [0.0, 0.5, 1.0])


def test_uniformity_of_a_regular_grid() -> None:
    axis = (np.arange(4) + 0.5) / 4
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    measured = designs.uniformity(grid)
    assert measured.minimum_distance == pytest.approx(0.25)
    assert measured.coverage == pytest.approx(0, abs=1e-9)
    assert measured.fill_distance == pytest.approx(0.125 * 2**0.5, rel=0.05)


def test_a_latin_hypercube_has_one_point_per_slice() -> None:
    slices = np.sort(np.floor(designs.latin_hypercube(50, 3) * 50), axis=0)
    assert np.array_equal(slices, np.tile(np.arange(50.0)[:, None], 3))


def test_sobol_halves_every_factor_evenly_with_any_number_of_points() -> None:
    design = designs.sobol(64, 4)
    assert [int(np.sum(column < 0.5)) for column in design.T] == [32] * 4
    assert np.array_equal(designs.sobol(50, 4), design[:50])
    assert not np.array_equal(designs.sobol(50, 4, 2), design[:50])


@pytest.mark.parametrize(("points", "factors"), [(1, 2), (5, 0)])
def test_a_design_needs_points_and_factors(points: int, factors: int) -> None:
    with pytest.raises(ScenarioError, match="at least 2 points"):
        designs.wsp(points, factors)


def test_more_points_than_candidates_are_refused() -> None:
    with pytest.raises(ScenarioError, match="at most 16384"):
        designs.wsp(20_000, 2)
