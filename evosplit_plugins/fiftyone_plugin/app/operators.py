"""The operators of the plugin, in the order in which FiftyOne lists them.

Each is thin: a form, a call of `api` (for a split, of `request`), and what `output` makes of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from evosplit_plugins.fiftyone_plugin.app.auditing import AuditSplit, ShowAudit, TakeAudited
from evosplit_plugins.fiftyone_plugin.app.base import AppOperator
from evosplit_plugins.fiftyone_plugin.app.exports import ExportSubsets
from evosplit_plugins.fiftyone_plugin.app.jobs import CancelSplit
from evosplit_plugins.fiftyone_plugin.app.manifests import ApplyManifest, SaveManifest
from evosplit_plugins.fiftyone_plugin.app.preview import CountSamples
from evosplit_plugins.fiftyone_plugin.app.records import UndoSplit
from evosplit_plugins.fiftyone_plugin.app.refreshing import LoadFields, LoadSamples
from evosplit_plugins.fiftyone_plugin.app.splitting import EvoSplit

__all__ = ["OPERATORS"]

OPERATORS: Sequence[type[AppOperator]] = (
    EvoSplit,
    CountSamples,
    CancelSplit,
    LoadFields,
    LoadSamples,
    UndoSplit,
    SaveManifest,
    ApplyManifest,
    AuditSplit,
    ShowAudit,
    TakeAudited,
    ExportSubsets,
)
