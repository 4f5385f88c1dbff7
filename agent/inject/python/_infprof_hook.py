# SPDX-License-Identifier: Apache-2.0
"""infprof's hook in a Python process of a rank: reports optimizer steps, arms Kineto late.

Runs inside other people's programs, so it never imports torch (it waits until the program does),
never lets an exception out, and does nothing in processes that are not the rank's own.

Kineto, PyTorch's profiler, asks the agent for windows to record once it is armed. It must not be
armed at import: it would initialise CUDA then, after which a forked child cannot use CUDA. It must
not be armed beside a profiler of the program's own: that crashes. So it is armed at the first
optimizer step, or, in a program that has no optimizer, at the first forward call without
gradients, and never in a program that has made a profiler before.

A process that ends while Kineto records or writes a window is killed by its own destructors, so
the hook ends the window first and waits until Kineto is idle.
"""

import atexit
import ctypes
import functools
import os
import sys
import threading
import time
import weakref

# Bits of enum ifp_hook_bits in core/segment.h.
LOADED = 1 << 0
TORCH = 1 << 1
ARMED = 1 << 3
PROFILER_BEFORE = 1 << 4
PROFILER_AFTER = 1 << 5
NO_SYMBOL = 1 << 6
FORWARD = 1 << 7
ERROR = 1 << 8

# torch::global_kineto_init(), no arguments, no result.
KINETO_INIT = "_ZN5torch18global_kineto_initEv"

# How long the end of the program may wait for Kineto. The agent says when Kineto is done, so these
# only bound what went wrong: some seconds are usual, a profiler of the program's own may keep
# Kineto busy for ever.
LEAVE_SECONDS = 120
LEAVE_SECONDS_WITH_PROFILER = 10
LEAVE_LOOK_SECONDS = 0.02
# A window of more steps than that is not ended by counting; a call takes about 1 us.
MAX_STEPS_AT_END = 1_000_000


class Api(ctypes.Structure):
    """struct infprof_api of include/infprof/mark.h. The calls are short: they keep the GIL."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("size_bytes", ctypes.c_uint32),
        ("range_push", ctypes.c_void_p),
        ("range_pop", ctypes.c_void_p),
        ("range_start", ctypes.c_void_p),
        ("range_end", ctypes.c_void_p),
        ("step_begin", ctypes.c_void_p),
        ("step_end", ctypes.c_void_p),
        ("counter", ctypes.c_void_p),
        ("instant", ctypes.c_void_p),
        ("step_completed", ctypes.PYFUNCTYPE(ctypes.c_uint64)),
        ("claim", ctypes.PYFUNCTYPE(ctypes.c_int)),
        ("note", ctypes.PYFUNCTYPE(None, ctypes.c_uint32)),
        ("may_arm", ctypes.PYFUNCTYPE(ctypes.c_int)),
        ("segment_active", ctypes.PYFUNCTYPE(ctypes.c_int)),
        ("leaving", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint64))),
    ]


def open_api(path):
    """The table of libinfprof.so; None where no agent records."""
    get = ctypes.CDLL(path).infprof_api_v1
    get.restype = ctypes.POINTER(Api)
    table = get()
    if not table or table.contents.version != 1 or table.contents.size_bytes < ctypes.sizeof(Api):
        return None
    return table.contents


def is_helper_process():
    """Children of multiprocessing (but forked ones), its servers, torch's compile workers."""
    with open("/proc/self/cmdline", "rb") as file:
        arguments = file.read().split(b"\0")
    return (
        b"--multiprocessing-fork" in arguments
        or any(argument.startswith(b"from multiprocessing.") for argument in arguments)
        or any(b"torch/_inductor/compile_worker" in argument for argument in arguments)
    )


def is_forked_worker():
    """A child that multiprocessing has forked, such as a worker of a DataLoader."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def guarded(method):
    """A hook that fails is noted and switched off: the program must not see it."""

    @functools.wraps(method)
    def call(self, *args):
        if self.off:
            return
        try:
            method(self, *args)
        except Exception:
            self.fail()

    # A compiled program calls hooks as they are; tracing one would end in ctypes.
    call._torchdynamo_disable = True
    return call


class Rank:
    """What this process does for its rank: counting steps, arming Kineto."""

    def __init__(self, api):
        self.api = api
        self.off = False  # nothing is done any more
        self.armed = False
        self.may_not_arm = False
        self.profiler_made = False
        self.steps = 0
        self.counts = weakref.WeakKeyDictionary()  # of steps, by optimizer
        self.kineto_step = None  # tells Kineto; None where torch counts by itself
        self.forward_hook = None
        # With the variable in the program's own environment, torch has armed Kineto at import.
        self.user_daemon = os.environ.get("KINETO_USE_DAEMON")
        os.register_at_fork(after_in_child=self.forked)
        # Before any other module's: so it is called after them, when nothing runs any more.
        atexit.register(self.leave)

    def fail(self):
        self.off = True
        try:
            self.api.note(ERROR)
            if os.environ.get("INFPROF_DEBUG"):
                import traceback

                traceback.print_exc()
        except Exception:
            pass

    def forked(self):
        """A child has no thread of Kineto's: one whose parent was armed cannot be armed again."""
        self.may_not_arm = self.may_not_arm or self.armed
        self.armed = False
        self.kineto_step = None
        self.steps = 0
        self.counts.clear()

    # ---- what the watched modules call -------------------------------------------------------

    @guarded
    def optimizers_imported(self, namespace):
        self.api.note(TORCH)
        namespace["register_optimizer_step_post_hook"](self.optimizer_stepped)

    @guarded
    def modules_imported(self, namespace):
        self.forward_hook = namespace["register_module_forward_pre_hook"](self.forward_called)

    @guarded
    def compiler_imported(self, namespace):
        """torch.compile warns about global forward hooks."""
        self.remove_forward_hook()

    @guarded
    def profiler_imported(self, namespace):
        profile = namespace["profile"]
        original = profile.__init__

        @functools.wraps(original)
        def __init__(profiler, *args, **kwargs):
            original(profiler, *args, **kwargs)
            self.profiler_constructed(profiler)

        profile.__init__ = __init__

    @guarded
    def profiler_constructed(self, profiler):
        if not getattr(profiler, "enabled", True):
            return
        self.profiler_made = True
        self.api.note(PROFILER_AFTER if self.armed else PROFILER_BEFORE)

    @guarded
    def optimizer_stepped(self, optimizer, args, kwargs):
        if self.steps == 0 and is_forked_worker():
            self.off = True
            return
        # Several optimizers take turns in one iteration: the largest count counts. One that is
        # new joins in the iteration that is running.
        count = self.counts.get(optimizer, max(self.steps - 1, 0)) + 1
        self.counts[optimizer] = count
        if count <= self.steps:
            return
        self.steps = count
        self.remove_forward_hook()
        if not self.api.step_completed():
            return  # another process is the rank's
        if self.armed:
            if self.kineto_step:
                self.kineto_step()
        elif self.arm() and self.kineto_step:
            # Kineto's iterations count from this process' first step, whenever it was armed.
            for _ in range(self.steps):
                self.kineto_step()

    @guarded
    def forward_called(self, module, inputs):
        """At the first forward call: without optimizers and gradients, this is inference."""
        self.remove_forward_hook()
        torch = sys.modules["torch"]
        if torch.is_grad_enabled() or has_optimizer() or is_forked_worker():
            return
        if self.arm():
            self.api.note(FORWARD)

    def remove_forward_hook(self):
        if self.forward_hook is not None:
            self.forward_hook.remove()
            self.forward_hook = None

    # ---- Kineto ------------------------------------------------------------------------------

    def arm(self):
        """Arms Kineto if that is wanted and safe, and says whether it is armed."""
        if self.may_not_arm or self.profiler_made or not self.api.may_arm():
            return False
        torch = sys.modules["torch"]
        step = find_kineto_step(torch)
        # A look-up in the module's own library finds the symbols of those it depends on.
        init = getattr(ctypes.CDLL(torch._C.__file__), KINETO_INIT, None)
        if step is None or init is None:
            self.may_not_arm = True
            self.api.note(NO_SYMBOL)
            return False
        if self.user_daemon is None:
            init.restype = None
            os.environ["KINETO_USE_DAEMON"] = "1"
            try:
                init()
            finally:
                del os.environ["KINETO_USE_DAEMON"]
        if not self.user_daemon:
            self.kineto_step = step
        self.armed = True
        self.api.note(ARMED)
        return True


    # ---- The end of the program --------------------------------------------------------------

    def leave(self):
        """Called last by atexit. Ctrl-C ends the wait; nothing gets out of here."""
        if not self.armed:
            return
        try:
            steps = (ctypes.c_uint64 * 2)()
            if self.api.leaving(steps) and self.end_window(*steps):
                self.wait_for_kineto(steps)
        except Exception:
            self.fail()
        except BaseException:
            pass

    def end_window(self, first, last):
        """Lets Kineto count past the window. False for a window that has not begun: it never will.

        Kineto begins when the step before the first is counted.
        """
        if not last:
            return True  # a window of time ends by itself
        if self.steps + 2 < first:
            return False
        count_step = sys.modules["torch"].autograd._kineto_step
        for _ in range(min(last - self.steps + 2, MAX_STEPS_AT_END)):
            count_step()
        return True

    def wait_for_kineto(self, steps):
        seconds = LEAVE_SECONDS_WITH_PROFILER if self.profiler_made else LEAVE_SECONDS
        deadline = time.monotonic() + seconds
        while self.api.leaving(steps) and time.monotonic() < deadline:
            time.sleep(LEAVE_LOOK_SECONDS)


def find_kineto_step(torch):
    """What tells Kineto of a step: torch's own counter, which knows the program's profiler too.

    Both may report the same iteration, and Kineto must hear of it once.
    """
    tracker = getattr(torch.autograd.profiler, "KinetoStepTracker", None)
    if tracker is not None:
        return functools.partial(tracker.increment_step, "infprof")
    return getattr(torch.autograd, "_kineto_step", None)


def has_optimizer():
    """Whether an optimizer has ever been made: making one marks its class' step function."""
    module = sys.modules.get("torch.optim.optimizer")
    classes = [module.Optimizer] if module else []
    while classes:
        one = classes.pop()
        if getattr(one.step, "hooked", False):
            return True
        classes.extend(one.__subclasses__())
    return False


# ---- Waiting for modules ---------------------------------------------------------------------


def execute(loader, name, told, module):
    """In the place of a loader's exec_module: takes itself out, then tells of the module."""
    if vars(loader).get("exec_module"):
        del loader.exec_module
    loader.exec_module(module)
    # A lazily loaded module gives its names only when it is complete; its dictionary has them.
    told(name, object.__getattribute__(module, "__dict__"))


class ModuleWatch:
    """A finder in front of sys.meta_path that finds nothing itself.

    The specs of the watched modules come from the other finders; only their loader's exec_module
    is replaced, until it is called. So find_spec(), lazy loaders and reload() work as ever.
    """

    def __init__(self, watched):
        self.watched = watched  # what to call with a module's dictionary, by name
        self.busy = threading.local()

    def find_spec(self, name, path=None, target=None):
        if name not in self.watched or getattr(self.busy, "name", None) == name:
            return None
        self.busy.name = name
        try:
            spec = self.ask_others(name, path, target)
        finally:
            self.busy.name = None
        try:
            if spec is not None and hasattr(spec.loader, "exec_module"):
                spec.loader.exec_module = functools.partial(execute, spec.loader, name, tell)
        except Exception:
            pass  # a loader that takes no attributes: this module is not watched
        return spec

    def ask_others(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                return spec
        return None


_watch = None


def tell(name, namespace):
    """A function of the module, so that a loader that was found but not run can be pickled."""
    if _watch is not None:
        _watch.watched[name](namespace)


def install():
    """Called once, by sitecustomize."""
    global _watch
    library = os.environ.get("INFPROF_LIBRARY")
    if not library or not os.environ.get("INFPROF_SEGMENT") or is_helper_process():
        return
    api = open_api(library)
    if api is None:
        return
    api.note(LOADED)
    rank = Rank(api)
    _watch = ModuleWatch(
        {
            "torch.optim.optimizer": rank.optimizers_imported,
            "torch.autograd.profiler": rank.profiler_imported,
            "torch.nn.modules.module": rank.modules_imported,
            "torch._dynamo": rank.compiler_imported,
        }
    )
    sys.meta_path.insert(0, _watch)
    for name in _watch.watched:  # a .pth file may have imported torch already
        if name in sys.modules:
            tell(name, vars(sys.modules[name]))
