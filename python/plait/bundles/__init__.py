"""Bundles: results with all that repeats them, in one archive for an artifact evaluation.

from plait.bundles import bundle, rerun

bundle("results/plan", "plan.zip", files=["mine.py"])
rerun("plan.zip", "again").different            # names of files with other bytes

A bundle is a ZIP archive:

| file of a bundle | content |
|---|---|
| `bundle.json` | versions, commands, seeds, and the SHA-256 of every other file |
| `README.txt` | the same for people, with the command that repeats it |
| `results/` | the folder of results, or the dataset of a sweep |
| `schedulers/`, `metrics/`, `traces/` | schedulers and metrics of the user, files that scenarios name |

| module | content |
|---|---|
| `archive.py` | writes and reads the archive; refuses damaged ones and names outside the folder |
| `packing.py` | finds the files of a bundle |
| `rerun.py` | makes the runs of a bundle again, and compares the bytes |

Results are repeated from the scenario of each run. Only the files of runs are compared; others,
such as figures and reports, are not.
"""

from plait.bundles.packing import bundle
from plait.bundles.rerun import Rerun, rerun

__all__ = ["Rerun", "bundle", "rerun"]
