# SPDX-License-Identifier: GPL-2.0
"""The metrics as an interface: docs/export.md describes each with type, unit and labels, series end with their TSG, and
the server behaves like other exporters."""

import contextlib
import pathlib
import re
import socket
import subprocess
import typing

import pytest
from support.exporter import CACHED, EXPORT, MS, fake_proc, get, listening, parse_metrics, recording
from support.fakeproc import IDLE, ON, FakeProc, Tsg, snapshot
from support.fakerm import ask_rm
from support.fakeclock import CLOCK
from support.program import PROFILES, ROOT, gpulens, image

SERIES = re.compile(r'^(\w+)(?:\{(.*)\})? \S+$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
UUID = "GPU-1b2c3d4e-0123-4567-89ab-0123456789ab"
TIME = "gpulens_tsg_engine_seconds_total"


class Metric(typing.NamedTuple):
    """A metric on a page or in the document; labels in brackets are optional."""
    type: str
    labels: typing.FrozenSet[str]


def write_information(proc: pathlib.Path, uuid: str, device: str = "0000:01:00.0") -> None:
    """Writes NVIDIA's text file about a GPU, as nv_procfs_read_gpu_info() in nv-procfs.c of its open driver does."""
    folder = proc / "driver/nvidia/gpus" / device
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "information").write_text(
        f"Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\nGPU UUID: \t {uuid}\nVideo BIOS: \t 96.00.a5.00.01\n")


def documented_metrics() -> typing.Dict[str, typing.List[str]]:
    """The cells of each row of docs/export.md's table: type, unit, labels."""
    text = (ROOT / "docs/export.md").read_text(encoding="utf-8").split("## The metrics")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|([^|]*)\| [^|]+ \|$", text, re.M)
    assert len({row[0] for row in rows}) == len(rows) == text.count("| `gpulens_")
    return {name: [kind, unit.strip(), labels.strip()] for name, kind, unit, labels in rows}


@pytest.fixture(name="pages", scope="module")
def fixture_pages(tmp_path_factory: pytest.TempPathFactory) -> typing.List[str]:
    """The pages of every emulated chip, and of a machine with all counters of stats and with samples."""
    proc = tmp_path_factory.mktemp("proc")
    fake_proc(proc)
    write_information(proc, UUID)
    counters = re.findall(r'format_stats_line\(t, "(\w+)"', (ROOT / "procfs/format_stats.c").read_text())
    assert len(counters) == 11
    lines = [f"{name} 1" for name in ("read_runlist", "read_runlist_failed", "write_disable_channel",
                                      "write_disable_channel_failed", *counters)]
    (proc / "gpu0/stats").write_text("\n".join(lines) + "\n")
    FakeProc(proc).show(snapshot({0: [Tsg(5, 2 * MS, ())]}), 0)
    done = gpulens("--proc", str(proc), *EXPORT, "--for", "100ms")
    assert (done.returncode, done.stderr) == (0, "")
    images = [gpulens("-i", "-", *EXPORT, stdin=image(profile).read_bytes()).stdout for profile in PROFILES]
    driver = ask_rm("export", "--prometheus", "--for", "2s", STATE="two")
    assert (driver.returncode, driver.stderr) == (0, "")
    return [done.stdout, driver.stdout, *images]


def test_every_metric_is_documented(pages: typing.List[str]) -> None:
    """The table of docs/export.md has the name, type and labels of every printed metric, and no other. Seen failing
    without a row, with a gauge called a counter, and without a label."""
    printed: typing.Dict[str, typing.List[typing.Set[str]]] = {}
    types: typing.Dict[str, str] = {}
    for page in pages:
        types.update(re.findall(r"^# TYPE (\w+) (\w+)$", page, re.M))
        for line in page.splitlines():
            if not line.startswith("#"):
                match = SERIES.match(line)
                assert match, line
                printed.setdefault(match[1], []).append({name for name, _ in LABEL.findall(match[2] or "")})
    rows = documented_metrics()
    assert set(rows) == set(printed)
    for name, (kind, unit, labels) in rows.items():
        always = set(re.findall(r"(?<![\[\w])\w+", labels))
        sometimes = set(re.findall(r"\[(\w+)\]", labels))
        assert types[name] == kind, name
        assert set.intersection(*printed[name]) - sometimes == always, name
        assert set.union(*printed[name]) == always | sometimes, name
        assert (unit == "seconds") == (re.sub("_total$", "", name).endswith("_seconds")), name
        assert (unit == "bytes") == name.endswith("_bytes"), name
        assert (kind == "counter") == name.endswith("_total"), name


def test_help_and_document_agree_on_what_is_counted(pages: typing.List[str]) -> None:
    """No metric has the help text of an unknown one. Seen failing without a name in add_cost()."""
    assert "See /proc/gpuX/stats." not in "\n".join(pages)


def test_values_of_labels_have_neither_blanks_nor_commas(pages: typing.List[str]) -> None:
    """Except for gpu, which may be a file name. Seen failing with the states "runs, off" and "on PBDMA"."""
    values = {(name, value) for page in pages for line in page.splitlines() if not line.startswith("#")
              for name, value in LABEL.findall(line) if name != "gpu"}
    assert len(values) > 100
    assert [pair for pair in values if re.search(r"[ ,]", pair[1])] == []


def test_build_info_has_the_version(pages: typing.List[str]) -> None:
    """The version that scripts/lib/version prints. Seen failing with a fixed text."""
    version = subprocess.run([ROOT / "scripts/lib/version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert parse_metrics(pages[0])[f'gpulens_build_info{{version="{version.strip()}"}}'] == 1


# --- the UUID ---

def info_of(proc: pathlib.Path) -> str:
    """The series gpulens_gpu_info."""
    done = gpulens("--proc", str(proc), *EXPORT)
    return next(line for line in done.stdout.splitlines() if line.startswith("gpulens_gpu_info"))


@pytest.mark.parametrize("uuid", ["GPU-????????-????-????-????-????????????", "", "GPU-1b2c3d4e", 'GPU-"} 1'])
def test_a_uuid_that_is_not_known_is_left_out(tmp_path: pathlib.Path, uuid: str) -> None:
    """The driver writes question marks until it has initialised the GPU; a text that is not a UUID does not become a
    label. Seen failing without is_uuid()."""
    fake_proc(tmp_path)
    assert "uuid" not in info_of(tmp_path), "no driver"
    write_information(tmp_path, uuid)
    assert "uuid" not in info_of(tmp_path)


def test_the_uuid_is_of_the_gpu_with_that_address(tmp_path: pathlib.Path) -> None:
    """The UUID of another GPU is not used. Seen failing with the folder of another address."""
    fake_proc(tmp_path)
    write_information(tmp_path, UUID.replace("1b", "2b"), "0000:02:00.0")
    assert "uuid" not in info_of(tmp_path)
    write_information(tmp_path, UUID)
    assert info_of(tmp_path).endswith(f',uuid="{UUID}"}} 1')


# --- the end of series ---

def read_times(url: str) -> typing.Dict[str, float]:
    """Seconds on GR0 by TSG."""
    return {re.findall(r'tsg="(\w+)"', name)[0]: value for name, value in parse_metrics(get(url)[2]).items()
            if name.startswith(TIME)}


def append_samples(proc: pathlib.Path, samples: typing.List[typing.Tuple[int, int, int]]) -> None:
    """Appends samples of GR0."""
    with (proc / "gpu0/samples").open("ab") as file:
        file.write(recording(samples)[4 + 64 + 64:])


def test_series_end_with_their_tsg(tmp_path: pathlib.Path) -> None:
    """TSG 5 leaves the runlist: its last value stays for --keep-ended, then its series ends, while that of TSG 3
    continues. If the id is used again, the counter starts at zero, also if the old series still exists. Seen failing
    without end_absent(), and with a counter that continues."""
    fake_proc(tmp_path)
    fake = FakeProc(tmp_path)

    def show_tsgs(time_ms: int, *tsgs: int) -> None:
        fake.show(snapshot({0: [Tsg(tsg, 2 * MS, ()) for tsg in tsgs]}, time_ns=time_ms * MS))
        CLOCK.run(CACHED)

    show_tsgs(20, 3, 5)
    with listening("--proc", str(tmp_path), "--keep-ended", "2s") as (_, url):
        CLOCK.run(0.3)
        assert read_times(url) == {"3": 0.004, "5": 0.002}
        show_tsgs(30, 3)
        assert read_times(url) == {"3": 0.004, "5": 0.002}, "a last time"
        show_tsgs(40, 3)
        CLOCK.run(2)
        assert read_times(url) == {"3": 0.004}
        # 5 is another TSG, and 3 becomes one between two scrapes
        append_samples(tmp_path, [(50 * MS, ON, 5), (51 * MS, IDLE, -1)])
        show_tsgs(60, 5)
        assert read_times(url) == {"3": 0.004, "5": 0.001}
        append_samples(tmp_path, [(70 * MS, ON, 3), (71 * MS, ON, 3), (73 * MS, IDLE, -1)])
        show_tsgs(80, 3, 5)
        assert read_times(url) == {"3": 0.003, "5": 0.001}


def test_a_runlist_that_cannot_be_read_ends_nothing(tmp_path: pathlib.Path) -> None:
    """Its TSGs are unknown then. Seen failing without the check of its error."""
    fake_proc(tmp_path)
    fake = FakeProc(tmp_path)
    fake.show(snapshot({0: [Tsg(3, 2 * MS, ()), Tsg(5, 2 * MS, ())]}, time_ns=20 * MS))
    with listening("--proc", str(tmp_path), "--keep-ended", "1s") as (_, url):
        CLOCK.run(0.3)
        assert set(read_times(url)) == {"3", "5"}
        good = snapshot({0: []}, time_ns=30 * MS)
        place = next(i for i in range(64, len(good), 64) if good[i:i + 2] == b"\3\0")  # runlist 0's record: EIO (5)
        fake.show(good[:place + 6] + b"\5\0" + good[place + 8:])
        for _ in range(2):
            CLOCK.run(CACHED)
            assert set(read_times(url)) == {"3", "5"}


# --- the server ---

def test_a_port_alone_listens_on_every_address() -> None:
    """:PORT answers on 127.0.0.1 and on ::1, as other exporters do. Seen failing with 127.0.0.1 only."""
    hosts = ["127.0.0.1"]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        hosts.append("[::1]")
    with listening("-i", str(image("gp106")), at=":0") as (_, url):
        port = re.findall(r":(\d+)/metrics$", url)[0]
        assert url == f"http://{'[::]' if '[::1]' in hosts else '0.0.0.0'}:{port}/metrics"
        for host in hosts:
            assert get(f"http://{host}:{port}/metrics")[0] == 200
        done = gpulens("-i", str(image("gp106")), *EXPORT, "--listen", f":{port}")
        assert done.returncode == 3 and f":{port}: cannot listen: Address already in use" in done.stderr


def test_healthz_does_not_depend_on_gpus(tmp_path: pathlib.Path) -> None:
    """Without a GPU, /healthz is 200 while /metrics is 503: a restart would not bring the GPU back. Seen failing with
    404."""
    fake_proc(tmp_path)
    with listening("--proc", str(tmp_path)) as (_, url):
        health = url.replace("/metrics", "/healthz")
        assert get(health) == (200, "text/plain; charset=utf-8", "ok\n")
        (tmp_path / "gpu0").rename(tmp_path / "away")
        CLOCK.run(CACHED)
        assert get(url)[0] == 503
        assert get(health)[0] == 200
