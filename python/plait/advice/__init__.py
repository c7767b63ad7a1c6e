"""`plait advise`: for someone who only knows their links.

`links` and `traffic` read what was said, `variations` and `trial` simulate it, `budget` says how long, `judging`,
`buffer` and `threshold` find what to say, `findings` holds it, and `wording` says it.
"""

from plait.advice.advice import Advice, Simulated, advise
from plait.advice.links import KnownPath, parse_path
from plait.advice.traffic import Traffic, parse_traffic

__all__ = ["Advice", "KnownPath", "Simulated", "Traffic", "advise", "parse_path", "parse_traffic"]
