"""Where a decode step's time went, and what a proposed change would really buy.

The folders at the root of the repository are linked here, so that they are
imported as ``stepprof.profiler``, ``stepprof.analyses``. Nothing is imported
for you: ``import stepprof`` costs nothing and needs no GPU.
"""

__version__ = "0.1.0"
