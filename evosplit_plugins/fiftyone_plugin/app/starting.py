"""Starts FiftyOne's database and the server of its App in the background, and ends the server before the database."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NoReturn, TypeVar

import fiftyone as fo
import fiftyone.core.session.session as fos
from fiftyone.core.service import ServerService, ServiceListenTimeout

from evosplit import EvoSplitError

__all__ = ["Services"]

T = TypeVar("T")
_ADDRESS = "127.0.0.1"
_PATIENCE = 300  # seconds; FiftyOne gives its server 60, which a busy machine exceeds


class _Server(ServerService):  # type: ignore[misc]  # fiftyone is untyped
    """The server of the App, for which a busy machine is given more time."""

    def _wait_for_child_port(self, port: int | None = None, timeout: float = _PATIENCE) -> Any:
        return super()._wait_for_child_port(port=port, timeout=timeout)

    def stop(self) -> None:
        """Stop it, unless it was there before."""
        if self.child is not None:
            super().stop()


class Services:
    """The database, and the server of the App on `app_port` if that is given; leaving the block ends the server.

    The database ends with this process. A server that outlived it would wait for it for half a minute.
    """

    def __init__(self, *, app_port: int | None) -> None:
        self._port = app_port
        self._database: Future[Any] = _in_background(fo.list_datasets)
        self._server: Future[_Server] | None = None if app_port is None else _in_background(self._serve)

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._server is not None and self._server.done() and self._server.exception() is None:
            fo.close_app()
            self._server.result().stop()

    def _serve(self) -> _Server:
        self._database.result()
        return _Server(self._port, address=_ADDRESS)

    def wait_for_database(self) -> None:
        """Wait until datasets can be loaded."""
        try:
            self._database.result()
        except ServiceListenTimeout as error:
            _give_up("database", error, f"its log is {fo.config.database_dir}/log/mongo.log")

    def open_app(self, dataset: Any) -> Any:
        """Open the App with a dataset as soon as its server is there; returns the session."""
        if self._server is None:
            raise ValueError("the App was not started: give app_port")
        try:
            server = self._server.result()
        except ServiceListenTimeout as error:
            _give_up("App", error, f"something else may use the port {self._port}; choose another one")
        # Else FiftyOne would connect to it as to the server of somebody else, and say so.
        getattr(fos, "_server_services", {}).setdefault(self._port, server)
        logging.getLogger(fos.__name__).setLevel(logging.WARNING)  # what it says of sessions is for notebooks
        return fo.launch_app(dataset, address=_ADDRESS, port=self._port)


def _give_up(what: str, error: Exception, hint: str) -> NoReturn:
    raise EvoSplitError(
        f"FiftyOne's {what} did not start in time ({error}); try again when the machine is less busy; {hint}"
    ) from error


def _in_background(task: Callable[[], T]) -> Future[T]:
    """Do something in a thread that nobody has to wait for when the process ends.

    What it starts does not hear Ctrl-C, which it would answer with a traceback; it ends with this process.
    """
    future: Future[T] = Future()

    def work() -> None:
        if hasattr(signal, "pthread_sigmask"):  # not on Windows
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            future.set_result(task())
        except BaseException as error:  # handed to the one who waits
            future.set_exception(error)

    threading.Thread(target=work, name="evosplit-starting", daemon=True).start()
    return future
