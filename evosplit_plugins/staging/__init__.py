"""The writer of all adapters: outputs are planned, made in a hidden folder, and moved to their final paths together.

A `Plan` lists everything that will be written. It is refused if an output is an input or reaches one through a link, if
two outputs are one file, and if it would replace a file that EvoSplit did not write or that was changed since. The
files that EvoSplit wrote into a directory are recorded in its `.evosplit.json`; `overwrite` replaces only those.

`Plan.stage` returns a `Staging`: a folder `.evosplit-...` in the output directory, with the new files in `new/`. Its
`commit` writes a journal, moves what is replaced into `old/` and the new files to their final paths, and then renames
the journal to `done`. A failure before that rename rolls everything back. If the process is killed, the next run into
that directory recovers: before the rename it rolls everything back, after it only the folder has to be removed.
"""

from evosplit_plugins.staging.paths import check_space
from evosplit_plugins.staging.plan import Plan
from evosplit_plugins.staging.record import RECORD, Run, read_record
from evosplit_plugins.staging.recovery import settle
from evosplit_plugins.staging.stage import Staging

__all__ = ["RECORD", "Plan", "Run", "Staging", "check_space", "read_record", "settle"]
