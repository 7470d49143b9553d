"""The one writer of all adapters: outputs are planned, made in a hidden folder, and moved to their places as a whole.

A `Plan` lists what will be written before anything is. It is refused where an output is an input or reaches one through
a link, where two outputs are one file, and where a file is in the way that EvoSplit did not write or that was changed
since. What a directory got from EvoSplit is recorded in its `.evosplit.json`; `overwrite` replaces that, nothing else.

`Plan.stage` gives a `Staging`: a folder `.evosplit-...` in the output directory, with the new files in `new/`. Its
`commit` writes a journal, moves what is replaced into `old/` and the new files to their places, and then renames the
journal to `done`. A failure before that rename puts everything back. If the process is killed, the next run into that
directory does: before the rename it puts everything back, after it only the folder is left to remove.
"""

from evosplit_plugins.staging.paths import check_space
from evosplit_plugins.staging.plan import Plan
from evosplit_plugins.staging.record import RECORD, Run, read_record
from evosplit_plugins.staging.recovery import settle
from evosplit_plugins.staging.stage import Staging

__all__ = ["RECORD", "Plan", "Run", "Staging", "check_space", "read_record", "settle"]
