# SPDX-License-Identifier: GPL-2.0
"""gpulens load on the tests' libcuda and resource manager of an H200."""

import json
import pathlib
import re
import signal
import subprocess

import pytest
from support.measured import FAKE, KINDS, UUID, check_schema, fake_environment, run_gpulens
from support.program import TOOL


@pytest.mark.parametrize("kind", KINDS)
def test_a_neighbour_ends_after_its_time(kind: str) -> None:
    """Seen failing with the limit ignored."""
    done = run_gpulens("--json", "load", kind, "--tpcs", "6-7", "--for", "500ms", "--probe", FAKE)
    assert done.stderr == f"gpulens: {kind} neighbour runs on TPCs 6-7 of 0000:01:00.0\n"
    told = check_schema("neighbour", json.loads(done.stdout))
    assert done.returncode == 0 and told["launches"] == 12 and told["seconds"] >= 0.5


@pytest.mark.parametrize("words,where,sms", (([], "the whole GPU", [*range(132)]),
                                             (["--tpcs", "6-7"], "TPCs 6-7 of 0000:01:00.0", [12, 13, 14, 15])))
@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_ends_a_neighbour(kind: str, words: list[str], where: str, sms: list[int],
                                   tmp_path: pathlib.Path) -> None:
    """Without --for it ends by SIGINT or SIGTERM, with its result. The fake writes its SMs into a file, which is gone
    afterwards. Seen failing with the number of launches ignored, and with the limit ignored."""
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([str(TOOL), "load", kind, *words, "--probe", FAKE], stdout=subprocess.PIPE,
                              env=fake_environment(FAKE_LOADS=str(tmp_path)), stderr=subprocess.PIPE,
                              text=True) as process:
            assert process.stdout and process.stderr
            assert process.stderr.readline() == f"gpulens: {kind} neighbour runs on {where}\n"
            assert [int(sm) for sm in (tmp_path / kind).read_text(encoding="ascii").split()] == sms
            process.send_signal(signal_number)
            assert re.fullmatch(rf"{kind}: 12 launches in \d+\.\d s\n", process.stdout.read())
        assert process.returncode == 0 and not (tmp_path / kind).exists()


def test_a_neighbour_runs_on_the_whole_gpu_that_is_named(tmp_path: pathlib.Path) -> None:
    """-g without a limit: CUDA shows the program that GPU alone, by its UUID, here CUDA's second device. Seen failing
    with CUDA's device 0."""
    probe = tmp_path / "probe"
    probe.write_text(f'#!/bin/sh\ntest "$CUDA_VISIBLE_DEVICES" = {UUID} && exec {FAKE} "$@"\n', encoding="ascii")
    probe.chmod(0o755)
    done = run_gpulens("-g", "0", "load", "memory", "--for", "300ms", "--probe", str(probe), FAKE_CUDA_SECOND="1")
    assert (done.returncode, done.stderr) == (0, "gpulens: memory neighbour runs on the whole GPU 0000:01:00.0\n")


NEIGHBOUR_FAILS = [
    (["memory", "--for", "1s"], {"FAKE_BREAK": "load-memory"}, 4, "load memory: it ended with status 1"),
    (["memory", "--for", "9s"], {"FAKE_BREAK": "ends-memory"}, 4, "load memory: it ended by itself"),
    (["noise"], {}, 2, "KIND: noise not in {compute,memory,copies}"),
    (["memory", "--tpcs", ""], {}, 2, "--tpcs: an empty limit"),
    (["memory", "--tpcs", "66"], {}, 2, '"66": there is no TPC 66; there are 0 to 65'),
    (["memory", "--for", "0s"], {}, 2, "--for: not a time such as"),
    (["-g", "7", "memory"], {}, 3, "there is no GPU 7; the driver has 1"),
    (["-g", "0", "-g", "1", "memory"], {}, 3, "one GPU at a time"),
]


@pytest.mark.parametrize("words,env,status,why", NEIGHBOUR_FAILS, ids=[why for *_, why in NEIGHBOUR_FAILS])
def test_a_neighbour_that_cannot_run(words: list[str], env: dict[str, str], status: int, why: str) -> None:
    """Nothing is printed as a result, and the message names the program or the option. Seen failing with a neighbour
    that ended by itself taken for one that ended in time."""
    done = run_gpulens("load", "--probe", FAKE, *words, **env)
    assert (done.returncode, done.stdout) == (status, "") and why in done.stderr, done.stderr
