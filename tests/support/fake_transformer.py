# SPDX-License-Identifier: GPL-2.0
"""Replaces PyTorch in the script of gpulens-lab experiment sharing --job net (tools/lab/experiment/sharing_net.cc): a
graph takes 3 ms, and a step of training 10. FAKE_GRAPH: it takes so many seconds, or "prints" another line."""

# pylint: disable=invalid-name,missing-function-docstring
import atexit
import contextlib
import os
import time
import types
import typing


class Thing:
    """A net, its result, an optimizer: what is called or asked for gives itself."""

    def __init__(self, *_: typing.Any, **__: typing.Any) -> None:
        pass

    def __getattr__(self, _: str) -> typing.Any:
        return lambda *_, **__: self

    def __call__(self, *_: typing.Any) -> "Thing":
        return self

    def __pow__(self, _: int) -> "Thing":
        return self


class Net(Thing):
    """A net, whose inference without a graph takes as long."""

    def eval(self) -> "Inference":
        return Inference()


class Inference(Thing):
    """Takes 3 ms."""

    def __call__(self, *_: typing.Any) -> "Thing":
        time.sleep(0.003)
        return self


class Optimizer(Thing):
    """AdamW."""

    def step(self) -> None:
        time.sleep(0.01)


class Graph:
    """A captured graph."""

    def replay(self) -> None:
        how = os.environ.get("FAKE_GRAPH", "0.003")
        if how == "prints":
            atexit.register(print, "and more")
        else:
            time.sleep(float(how))


bfloat16 = None
inference_mode = contextlib.nullcontext
randn = Thing
optim = types.SimpleNamespace(AdamW=Optimizer)
nn = types.SimpleNamespace(TransformerEncoderLayer=Thing, TransformerEncoder=Net)
cuda = types.SimpleNamespace(CUDAGraph=Graph, graph=lambda _: contextlib.nullcontext(), synchronize=lambda: None)
