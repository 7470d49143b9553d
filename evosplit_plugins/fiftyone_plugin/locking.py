"""One split at a time is written into a dataset, whichever processes share the database."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from fiftyone.core.odm import get_db_conn
from pymongo.errors import DuplicateKeyError, PyMongoError

__all__ = ["alone_with"]

COLLECTION = "evosplit.locks"
LASTS = 30.0  # seconds after which the lock of a process that was killed is free
_RENEWED, _PAUSE = 5.0, 0.1  # seconds between two renewals, and between two looks at a lock of another process
_THREADS = threading.RLock()
_held: set[str] = set()


@contextmanager
def alone_with(dataset: Any) -> Iterator[None]:
    """Wait until nobody else writes a split into a dataset, and keep others waiting meanwhile.

    Threads of this process wait for each other, other processes for a document in the database. It is renewed while it
    is held, so that only the lock of a process that was killed, or stopped for long, runs out.
    """
    name = str(dataset.name)
    with _THREADS:
        if name in _held:
            yield
            return
        mine = {"_id": name, "owner": secrets.token_hex(8)}
        while not _taken(mine):
            time.sleep(_PAUSE)
        ended = threading.Event()
        renewing = threading.Thread(target=_renew, args=(mine, ended), name="evosplit-lock", daemon=True)
        renewing.start()
        _held.add(name)
        try:
            yield
        finally:
            _held.discard(name)
            ended.set()
            renewing.join()
            with suppress(PyMongoError):  # then it runs out
                get_db_conn()[COLLECTION].delete_one(mine)


def _taken(mine: Mapping[str, str]) -> bool:
    """Take the lock if there is none, or one that has run out by the clock of the database."""
    locks, name = get_db_conn()[COLLECTION], mine["_id"]
    try:
        locks.update_one({"_id": name, "until": {"$exists": False}}, _until(mine["owner"]), upsert=True)
    except DuplicateKeyError:
        over = {"_id": name, "$expr": {"$lt": ["$until", "$$NOW"]}}
        return bool(locks.update_one(over, _until(mine["owner"])).matched_count)
    return True


def _renew(mine: Mapping[str, str], ended: threading.Event) -> None:
    while not ended.wait(_RENEWED):
        with suppress(PyMongoError):  # the next renewal may reach the database again
            get_db_conn()[COLLECTION].update_one(mine, _until(mine["owner"]))


def _until(owner: str) -> list[dict[str, Any]]:
    return [{"$set": {"owner": owner, "until": {"$add": ["$$NOW", LASTS * 1000]}}}]
