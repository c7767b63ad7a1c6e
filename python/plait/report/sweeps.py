"""The page about a dataset."""

from __future__ import annotations

from typing import Any

from plait.report.reading import Dataset


def dataset_page(dataset: Dataset) -> dict[str, Any]:
    """What the page's template takes."""
    raise NotImplementedError
