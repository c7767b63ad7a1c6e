"""Scenarios: definition, changes and templates, units and schedulers; formulas of paths.

A user-defined scheduler (`own`) is a file name, a class, parameters as text, and the whole content
of the file. The content travels to other processes; it is hashed, run and kept with results. A
Python class is loaded as a fresh module in every run. A shared library is loaded from a copy of the
content, so a new build is another library.

A user-defined workload (`own_workload`) or congestion controller (`controller`) is part of a
scenario, which names its file as it names traces.
"""
