# SPDX-License-Identifier: Apache-2.0
"""Name what your program does, and see it on the timeline.

    import infprof

    for number, batch in enumerate(batches, 1):
        with infprof.step(number):
            with infprof.range("load"):
                x = batch.to_tensor()
            loss = train(x)
            infprof.counter("loss", loss)

    @infprof.range()            # named after the function
    def train(x): ...

Under ``infprof-agent -- python program.py`` this is recorded; without an agent every call does
nothing. No call ever raises because of infprof, blocks, or prints. The agent brings this package
along; to have it for runs without an agent, too: ``pip install ./agent/inject/python``.

Everything here may be used from any thread and in forked children. Ranges nest within a thread: in
coroutines, which take turns on one thread, use ``start`` and ``end`` (the decorator does).
"""

import functools as _functools
import itertools as _itertools

from . import _library

__version__ = "0.1.0"
__all__ = [
    "active",
    "counter",
    "end",
    "instant",
    "pop",
    "push",
    "range",
    "start",
    "step",
]

_api = _library.load()


def active():
    """Whether calls are recorded: to leave out the work of computing what would be."""
    return _api is not None


def _bytes(text):
    """UTF-8 of any object; names are for people, so what cannot be shown is replaced."""
    try:
        return str(text).encode("utf-8", "replace")
    except Exception:
        return b"?"


def push(name):
    """Opens a range of this thread."""
    if _api:
        _api.range_push(_bytes(name))


def pop():
    """Ends the innermost range of this thread."""
    if _api:
        _api.range_pop()


def start(name):
    """Opens a range that any thread may end. Gives what end() takes."""
    return _api.range_start(_bytes(name)) if _api else 0


def end(identifier):
    """Ends the range that start() opened."""
    if _api and isinstance(identifier, int):
        _api.range_end(identifier & 0xFFFFFFFF)


def instant(name):
    """Marks a moment."""
    if _api:
        _api.instant(_bytes(name))


def counter(name, value):
    """Records a value that changes over time. Anything that float() takes; other things are left
    out. (A tensor on a GPU makes float() wait for the GPU.)"""
    if not _api:
        return
    try:
        number = float(value)
    except Exception:
        return
    _api.counter(_bytes(name), number)


class _Range:
    """What range() gives: a context manager, and a decorator for functions and coroutines."""

    def __init__(self, name):
        self._name = name
        self._encoded = _bytes(name) if _api and name is not None else b"range"

    def __enter__(self):
        if _api:
            _api.range_push(self._encoded)
        return self

    def __exit__(self, *exception):
        if _api:
            _api.range_pop()
        return False

    def __call__(self, function):
        name = self._name
        if name is None:
            name = getattr(function, "__qualname__", type(function).__name__)
        return _wrap(function, name)


def _wrap(function, name):
    import inspect

    if inspect.iscoroutinefunction(function):

        @_functools.wraps(function)
        async def wrapper(*args, **kwargs):
            identifier = start(name)
            try:
                return await function(*args, **kwargs)
            finally:
                end(identifier)

    else:

        @_functools.wraps(function)
        def wrapper(*args, **kwargs):
            push(name)
            try:
                return function(*args, **kwargs)
            finally:
                pop()

    return wrapper


def range(name=None):
    """A range of this thread: ``with range("name"):``, or ``@range()`` and ``@range("name")`` above
    a function."""
    if callable(name):
        return _Range(None)(name)
    return _Range(name)


_step_numbers = _itertools.count(1)


class step:
    """One turn of the outermost loop, with its number: ``with step(number):``. Give the same number
    on all ranks; without one, steps are counted from 1."""

    def __init__(self, number=None):
        self.number = next(_step_numbers) if number is None else number

    def _mark(self, function):
        try:
            function(int(self.number) & 0xFFFFFFFFFFFFFFFF)
        except (TypeError, ValueError, OverflowError):
            pass

    def __enter__(self):
        if _api:
            self._mark(_api.step_begin)
        return self

    def __exit__(self, *exception):
        if _api:
            self._mark(_api.step_end)
        return False
