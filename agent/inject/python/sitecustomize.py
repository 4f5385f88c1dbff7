# SPDX-License-Identifier: Apache-2.0
"""Python runs this at start-up because infprof-agent put its folder in front of PYTHONPATH.

Starts infprof's hook, then runs the sitecustomize that Python would have run without infprof.
Whatever version of Python, and whatever fails in the hook: the program must not notice.
"""


def _start_hook():
    try:
        import _infprof_hook

        _infprof_hook.install()
    except Exception:
        pass


def _run_next():
    """What the user's sitecustomize raises goes to Python's site module, as it would have."""
    import os
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry) != here]
    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start_hook()
_run_next()
