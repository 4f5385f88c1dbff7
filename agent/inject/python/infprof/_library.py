# SPDX-License-Identifier: Apache-2.0
"""The table of libinfprof.so, as include/infprof/mark.h describes it, through ctypes.

The calls last some ten nanoseconds and so keep the GIL: giving it up would cost more, and would let
other threads run between a mark and what it marks.
"""


def _table_type():
    import ctypes

    def call(result, *arguments):
        return ctypes.PYFUNCTYPE(result, *arguments)

    class Api(ctypes.Structure):
        _fields_ = [
            ("version", ctypes.c_uint32),
            ("size_bytes", ctypes.c_uint32),
            ("range_push", call(None, ctypes.c_char_p)),
            ("range_pop", call(None)),
            ("range_start", call(ctypes.c_uint64, ctypes.c_char_p)),
            ("range_end", call(None, ctypes.c_uint64)),
            ("step_begin", call(None, ctypes.c_uint64)),
            ("step_end", call(None, ctypes.c_uint64)),
            ("counter", call(None, ctypes.c_char_p, ctypes.c_double)),
            ("instant", call(None, ctypes.c_char_p)),
        ]

    return Api


class _Functions:
    """The functions as attributes: reading one from a ctypes structure makes a new object."""

    def __init__(self, table):
        for name, _ in table._fields_[2:]:
            setattr(self, name, getattr(table, name))


def load():
    """The functions; None when there is no agent, or anything is not as it should be."""
    import os

    path = os.environ.get("INFPROF_LIBRARY")
    if not path:
        return None
    try:
        import ctypes

        get = ctypes.CDLL(path).infprof_api_v1
        get.restype = ctypes.POINTER(_table_type())
        table = get()
        return _Functions(table.contents) if table and table.contents.version == 1 else None
    except Exception:
        return None
