"""A fixed suite of networks, on which any scheduler can be judged: `plait bench`.

| file | content |
|---|---|
| `suite.py` | the points: links, traffic and transports; parts, domains, repetitions |
| `runs.py` | the runs of schedulers, each path alone, and the bounds |
| `known.py`, `results-1.parquet` | the results of the built-in schedulers |
| `scores.py` | ratios to the best known value, the bound and the best path alone; worst cases |
| `output.py` | a folder of results: rows, JSON, a page, scenario files of the worst cases |
"""
