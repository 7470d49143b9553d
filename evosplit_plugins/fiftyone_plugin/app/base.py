"""What the operators share: how they are described, and how they ask and tell the App."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, ClassVar

import fiftyone.operators as foo
import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin.app.output import message_output, plain

__all__ = [
    "ALSO_DELEGATED",
    "CAPTIONS",
    "ICON",
    "PLUGIN",
    "AppOperator",
    "RecordOperator",
    "in_a_sentence",
    "in_app",
    "in_words_of_the_form",
    "refuse",
    "show",
    "show_error",
]

PLUGIN = "@evosplit/evosplit"
ICON = "call_split"
ALSO_DELEGATED = {"allow_immediate_execution": True, "allow_delegated_execution": True}
# What the forms call the parameters of the library, in errors too.
CAPTIONS = {
    "cover": "Rare labels in every subset",
    "effort": "Effort",
    "field": "Field name",
    "folds": "Number of folds",
    "group_by": "Keep together samples with the same",
    "group_regex": "Keep together files whose paths match with the same text",
    "label_field": "Labels to spread evenly",
    "label_weights": "Label weights",
    "locked": "Keep what is already in a subset",
    "min_per_label": "Samples of each label in each subset, at least",
    "overwrite": "Replace the values of this field",
    "seed": "Seed",
    "stratify_by": "Balance also",
    "tags": "Tags",
}
_KEPT = 64
_taken: OrderedDict[str, Any] = OrderedDict()  # the forms that were shown without a refusal, the latest last
logger = logging.getLogger(__name__)


class AppOperator(foo.Operator):  # type: ignore[misc]  # fiftyone is untyped
    """An operator that says in `about` what FiftyOne wants to know of it."""

    about: ClassVar[Mapping[str, Any]]

    @property
    def config(self) -> Any:
        """Describe it; the form is built anew at every change."""
        return foo.OperatorConfig(**{"dynamic": True, **self.about})

    def resolve_input(self, ctx: Any) -> Any:
        """Build the form; one that was taken when it was shown is taken when it is sent off, too.

        The App resolves a form again before it sends it off. Of one that is refused then, as where others have split or
        deleted something meanwhile, it says nothing: what is wrong is for the run to say.
        """
        if in_app(ctx) and "target" not in ctx.request_params:  # it has been sent off
            return None
        form, key = self.ask(ctx), json.dumps([ctx.prompt_id, self.name, ctx.params], sort_keys=True, default=str)
        if form is None or ctx.prompt_id is None:
            return form
        if any(prop.invalid for prop in form.type.properties.values()):
            return _taken.get(key, form)
        _taken[key] = form
        while len(_taken) > _KEPT:
            _taken.popitem(last=False)
        return form

    def ask(self, ctx: Any) -> Any:
        """Build the form; by default there is none."""
        return None


class RecordOperator(AppOperator, ABC):
    """What the operators on recorded splits share: a form under their own name, a sentence as the result."""

    def form(self, inputs: Any) -> Any:
        """Show inputs under the name of the operator."""
        return types.Property(inputs, view=types.View(label=self.config.label))

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Do it; the App is told in a sentence why it cannot be done, Python by the exception."""
        try:
            return self.do(ctx)
        except Exception as error:
            if ctx.delegated or not in_app(ctx):
                raise
            return {"error": in_a_sentence(error)}

    @abstractmethod
    def do(self, ctx: Any) -> dict[str, Any]:
        """Do what the operator is for, and say so in `message`."""

    def resolve_output(self, ctx: Any) -> Any:
        """Say what was done, or why not."""
        results = ctx.results or {}
        error = results.get("error")
        return message_output(self.config.label, error or results.get("message", ""), error=bool(error))


def in_app(ctx: Any) -> bool:
    """Whether the App asks, not Python."""
    return ctx.request_params.get("spaces") is not None  # the layout of the App, which only the App sends


def show(ctx: Any, schema: Any, results: dict[str, Any]) -> Any:
    """Show something in the dialog of a running operator."""
    return ctx.ops.show_output(schema.to_json(), results)


def show_error(ctx: Any, title: str, sentence: str) -> list[Any]:
    """Say in the dialog of a running operator, and where it was closed, what went wrong; returns the messages."""
    return [show(ctx, message_output(title, sentence, error=True), {}), ctx.ops.notify(sentence, variant="error")]


def refuse(inputs: Any, sentence: str, name: str = "refused") -> None:
    """Show what is wrong, and keep the form from being executed."""
    prop = inputs.view(name, types.Error(label=plain(sentence)))
    prop.invalid = True
    prop.error_message = sentence


def in_a_sentence(error: Exception, *, written: bool = False) -> str:
    """Say what went wrong; what no user can have caused is logged, and the state of the dataset is said."""
    if isinstance(error, EvoSplitError):
        text = in_words_of_the_form(error)
        return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
    logger.error("EvoSplit failed", exc_info=error)
    state = "The samples were written" if written else "The dataset is as it was"
    return f"EvoSplit failed: {type(error).__name__}: {error}. {state}; the log of the App server tells more."


def in_words_of_the_form(error: EvoSplitError) -> str:
    """Return the message with what the forms call the parameters."""
    return error.rewritten(_as_in_the_form)


def _as_in_the_form(parameter: str, value: str) -> str | None:
    caption = CAPTIONS.get(parameter)
    return None if caption is None else f'"{caption}"' if value in ("", "True") else f'"{caption}" {value}'
