# SPDX-License-Identifier: GPL-2.0
"""Replaces PyTorch in the script of gpulens-lab experiment --job net (tools/lab/experiment/net.cc): a net takes 96
ms, divided by the TPCs of its stream, or as FAKE_TORCH_MS says. Streams are those of libgpulens-partition, whose
functions are called as the script calls them; which TPCs a stream has is seen there."""

# pylint: disable=invalid-name,too-few-public-methods,missing-function-docstring
import contextlib
import ctypes
import os
import threading
import time
import types
import typing

# Of a net: ms of layers that two TPCs share at most, and of those that all TPCs of its stream share.
NARROW, WIDE = (float(ms) for ms in os.environ.get("FAKE_TORCH_MS", "0,96").split(","))
NUMBERS: typing.Dict[int, int] = {}  # of TPCs, by stream
CURRENT = threading.local()


class Watched:
    """A function of the library; seen(arguments, result) is called after it."""

    def __init__(self, function: typing.Any, seen: typing.Callable[..., None]) -> None:
        self.function, self.seen, self.restype = function, seen, ctypes.c_int

    def __call__(self, *words: typing.Any) -> typing.Any:
        self.function.restype = self.restype
        result = self.function(*words)
        self.seen(words, result)
        return result


REAL = ctypes.CDLL


def load_watched(name: str) -> typing.Any:
    """In place of ctypes.CDLL: keeps the number of TPCs of the mask that was parsed last for the next stream."""
    library, parsed = REAL(name), [0]

    def see_mask(words: typing.Any, _: int) -> None:
        parsed[0] = len(words[1].split(b","))

    def see_stream(_: typing.Any, stream: int) -> None:
        NUMBERS[stream] = parsed[0]
    setattr(library, "gpulens_mask_parse", Watched(library.gpulens_mask_parse, see_mask))
    setattr(library, "gpulens_partition_stream", Watched(library.gpulens_partition_stream, see_stream))
    return library


ctypes.CDLL = load_watched  # type: ignore


class Event:
    """Of the time that the stream's nets have taken."""

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing
        self.ms = 0.0

    def record(self, stream: "ExternalStream") -> None:
        self.ms = stream.ms

    def synchronize(self) -> None:
        time.sleep(0.001)

    def elapsed_time(self, end: "Event") -> float:
        return end.ms - self.ms


class ExternalStream:
    """A stream of libgpulens-partition."""

    def __init__(self, handle: int) -> None:
        self.tpcs, self.ms = NUMBERS[handle], 0.0

    def synchronize(self) -> None:
        time.sleep(0.001)


@contextlib.contextmanager
def use_stream(stream: ExternalStream) -> typing.Iterator[None]:
    CURRENT.stream = stream
    yield


class Module:
    """A net or a layer."""

    def __init__(self, *_: typing.Any, **__: typing.Any) -> None:
        self.ready = False

    def cuda(self) -> "Module":
        self.ready = True
        return self

    def eval(self) -> "Module":
        return self

    def __call__(self, image: typing.Any) -> None:
        assert self.ready and image
        CURRENT.stream.ms += NARROW / min(CURRENT.stream.tpcs, 2) + WIDE / CURRENT.stream.tpcs


def make_shape(*shape: int, device: str) -> typing.Tuple[int, ...]:
    assert device == "cuda"
    return shape


zeros = rand = make_shape
no_grad = contextlib.nullcontext
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(enabled=True))
nn = types.SimpleNamespace(Conv2d=Module, LeakyReLU=Module, MaxPool2d=Module, Sequential=Module)
cuda = types.SimpleNamespace(is_available=lambda: True, get_device_name=lambda _: "Fake H200",
                             Event=Event, ExternalStream=ExternalStream, stream=use_stream)
