# SPDX-License-Identifier: GPL-2.0
"""gpulens export: metrics for Prometheus, from recorded GPUs and from a folder in place of /proc."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import typing

import pytest
from support.exporter import (CACHED, EXPORT, MS, fake_proc, find_complaints, get, listening, parse_metrics, recording,
                              scrape_page)
from support.fakeproc import IDLE, ON
from support.fakeclock import CLOCK
from support.program import PROFILES, PROGRAMS, TOOL, gpulens, image


@pytest.mark.parametrize("profile", PROFILES)
def test_promtool_accepts_the_metrics(profile: str) -> None:
    """Every chip's metrics pass promtool check metrics, and there are more than gpulens_up.
    Seen failing with an empty HELP."""
    done = gpulens("-i", "-", *EXPORT, stdin=image(profile).read_bytes())
    assert (done.returncode, done.stderr) == (0, "")
    assert find_complaints(done.stdout) == ""
    assert parse_metrics(done.stdout)['gpulens_up{gpu="standard input"}'] == 1


def test_ad102s_scenario_is_counted_as_it_is_written() -> None:
    """Counted by hand in emulator/scenarios/demo-ad102.json. Runlist 0: TSG 5 is on the engine with channel 16, and
    TSG 4 copies beside it with channel 11, which is on the other runqueue; 17 and 27 have no work; 10 is disabled; 8,
    9, 24, 25, 26 wait. Time slices are timeout << scale units of 1024 ns. Seen failing with channels
    counted by their status instead of their activity."""
    series = parse_metrics(gpulens("-i", "-", *EXPORT, stdin=image("ad102").read_bytes()).stdout)
    gpu = 'gpu="standard input"'
    states = {"runs": 2, "waits": 5, "idle": 2, "off": 1, "runs_off": 0, "on_pbdma": 0, "faulted": 0, "unreadable": 0}
    for state, count in states.items():
        assert series[f'gpulens_channels{{{gpu},runlist="0",state="{state}"}}'] == count, state
    assert series["gpulens_gpus"] == 1
    assert series[f'gpulens_gpu_info{{{gpu},device="0000:01:00.0",chip="AD102",architecture="Ada"}}'] == 1
    assert series[f'gpulens_engine_info{{{gpu},engine="LCE2",runlist="1"}}'] == 1
    assert series[f'gpulens_tsgs{{{gpu},runlist="0"}}'] == 5
    assert series[f'gpulens_tsgs{{{gpu},runlist="3"}}'] == 0
    # 5 TSGs and 10 channels
    assert series[f'gpulens_runlist_entries{{{gpu},runlist="0"}}'] == 15
    slices = {("0", 3): 0.001048576, ("0", 4): 0.000262144, ("0", 5): 0.0032768, ("0", 6): 0.00052224,
              ("1", 40): 0.001048576, ("15", 54): 0.001048576}
    for (runlist, tsg), seconds in slices.items():
        assert series[f'gpulens_tsg_timeslice_seconds{{{gpu},runlist="{runlist}",tsg="{tsg}"}}'] == seconds
    # RTAS'24, Fig. 10, 11: both graphics copy engines borrow another's
    assert series[f'gpulens_hazards{{{gpu},hazard="grce-shares-pce"}}'] == 2
    assert series[f'gpulens_hazards{{{gpu},hazard="shared-runlist"}}'] == 0


def test_labels_are_escaped(tmp_path: pathlib.Path) -> None:
    """A file name with a quote, a backslash, a new line and a byte that is not UTF-8 becomes a label that promtool
    accepts. Seen failing without escaped()."""
    name = bytes(tmp_path) + b'/a"b\\c\nd\xff'
    shutil.copy(bytes(image("gp106")), name)
    done = subprocess.run([bytes(TOOL), b"-i", name, *(w.encode() for w in EXPORT)], capture_output=True, check=True)
    text = done.stdout.decode()
    assert find_complaints(text) == ""
    assert f'gpulens_up{{gpu="{tmp_path}/a\\"b\\\\c\\nd\ufffd"}} 1\n' in text


def test_output_replaces_the_file_at_once(tmp_path: pathlib.Path) -> None:
    """A reader with the old file open reads all of it, and afterwards the folder has only the new file.
    Seen failing with a write to the file itself."""
    file = tmp_path / "gpulens.prom"
    file.write_text("old\n")
    with file.open() as old:
        done = gpulens("-i", str(image("gp106")), *EXPORT, "-o", str(file))
        assert (done.returncode, done.stdout) == (0, "")
        assert old.read() == "old\n"
    assert find_complaints(file.read_text()) == "" and "gpulens_up" in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


def test_output_that_cannot_be_written_is_named(tmp_path: pathlib.Path) -> None:
    """A folder that does not exist: status 3, and the message names the file."""
    done = gpulens("-i", str(image("gp106")), *EXPORT, "-o", str(tmp_path / "nowhere/gpulens.prom"))
    assert done.returncode == 3
    assert f"{tmp_path}/nowhere/gpulens.prom: ENOENT: No such file or directory; check the path" in done.stderr


# --- a folder that stands for /proc ---

@pytest.fixture(name="proc")
def fixture_proc(tmp_path: pathlib.Path) -> pathlib.Path:
    """The folder that fake_proc() makes."""
    fake_proc(tmp_path)
    return tmp_path


def test_cost_of_reading_is_exported_in_base_units(proc: pathlib.Path) -> None:
    """Each line of stats is a series: calls by file, accesses, and nanoseconds as seconds; an unknown name is a
    counter.
    Seen failing with nanoseconds under a name with seconds."""
    done = gpulens("--proc", str(proc), *EXPORT)
    assert (done.returncode, done.stderr, find_complaints(done.stdout)) == (0, "", "")
    series = parse_metrics(done.stdout)
    expected = {
        'gpulens_reads_total{gpu="0",file="runlist"}': 7, 'gpulens_read_failures_total{gpu="0",file="runlist"}': 1,
        'gpulens_writes_total{gpu="0",file="disable_channel"}': 3,
        'gpulens_write_failures_total{gpu="0",file="disable_channel"}': 2,
        'gpulens_bar0_read32_total{gpu="0"}': 123456789012, 'gpulens_window_stopped_seconds_total{gpu="0"}': 0.0025,
        'gpulens_window_longest_stop_seconds{gpu="0"}': 0.000012, 'gpulens_something_new_total{gpu="0"}': 5}
    assert {name: series[name] for name in expected} == expected
    assert not [name for name in series if name.startswith("gpulens_tsg_engine")], "nobody asked for samples"


def test_time_on_engines_is_summed_by_tsg(proc: pathlib.Path) -> None:
    """The slots of the fixture, in seconds. Seen failing with switching counted as time on the engine."""
    done = gpulens("--proc", str(proc), *EXPORT, "--for", "100ms")
    assert (done.returncode, done.stderr, find_complaints(done.stdout)) == (0, "", "")
    series = parse_metrics(done.stdout)
    assert {name: value for name, value in series.items() if "engine_s" in name or "engine_b" in name} == {
        'gpulens_tsg_engine_seconds_total{gpu="0",engine="GR0",runlist="0",tsg="5"}': 0.002,
        'gpulens_tsg_engine_seconds_total{gpu="0",engine="GR0",runlist="0",tsg="3"}': 0.004,
        'gpulens_engine_busy_seconds_total{gpu="0",engine="GR0"}': 0.007,
        'gpulens_engine_switch_seconds_total{gpu="0",engine="GR0"}': 0.001}
    assert series['gpulens_sampler_up{gpu="0"}'] == 1


def test_number_of_series_is_bounded(proc: pathlib.Path) -> None:
    """Each of 300 TSGs with 1 ms has a series. Of 5000 TSGs, the 4096 that were on the engine last have one, and the
    others are counted. Seen failing with MAX_SERIES 256, and without drop()."""
    for count, kept in ((300, 300), (5000, 4096)):
        samples = [(i * MS, ON, i) for i in range(1, count + 1)] + [((count + 1) * MS, IDLE, -1)]
        (proc / "gpu0/samples").write_bytes(recording(samples))
        done = gpulens("--proc", str(proc), *EXPORT, "--for", "500ms")
        series = parse_metrics(done.stdout)
        times = {name: value for name, value in series.items() if "tsg_engine" in name}
        assert times == {f'gpulens_tsg_engine_seconds_total{{gpu="0",engine="GR0",runlist="0",tsg="{i}"}}': 0.001
                         for i in range(count - kept + 1, count + 1)}
        assert series['gpulens_tsg_series_evicted_total{gpu="0"}'] == count - kept


def test_one_bad_gpu_hides_no_other(proc: pathlib.Path) -> None:
    """gpu1 has an invalid snapshot: its gpulens_up is 0, it is named on standard error, the status is 1, and gpu0 is
    complete.
    Seen failing without the catch in Exporter::collect()."""
    shutil.copytree(proc / "gpu0", proc / "gpu1")
    (proc / "gpu1/snapshot").write_text("nonsense\n")
    done = gpulens("--proc", str(proc), *EXPORT)
    assert done.returncode == 1 and f"{proc}/gpu1/snapshot" in done.stderr
    assert find_complaints(done.stdout) == ""
    series = parse_metrics(done.stdout)
    assert series['gpulens_up{gpu="0"}'] == 1 and series['gpulens_up{gpu="1"}'] == 0
    assert series['gpulens_tsgs{gpu="0",runlist="0"}'] == 5
    assert series['gpulens_reads_total{gpu="1",file="runlist"}'] == 7


def test_missing_samples_are_reported(proc: pathlib.Path) -> None:
    """No samples file: the rest is exported, with gpulens_sampler_up 0, a message and status 1."""
    (proc / "gpu0/samples").unlink()
    done = gpulens("--proc", str(proc), *EXPORT, "--for", "100ms")
    assert done.returncode == 1 and "samples: ENOENT" in done.stderr
    series = parse_metrics(done.stdout)
    assert series['gpulens_sampler_up{gpu="0"}'] == 0 and series['gpulens_up{gpu="0"}'] == 1


def run_sampler(name: str, proc: pathlib.Path) -> "subprocess.CompletedProcess[str]":
    """Runs a program of tests/tools/clock_program.cc on that folder."""
    return subprocess.run([PROGRAMS / name, str(proc)], capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"})


def test_the_sampler_beside_its_readers(proc: pathlib.Path) -> None:
    """Three threads read while 200 slots of 1 ms arrive; each slot is counted once. The shared code is built with
    ThreadSanitizer. Seen failing without the lock in up()."""
    done = run_sampler("clock-threads", proc)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done 204\n", "")


def test_the_sampler_without_memory(proc: pathlib.Path) -> None:
    """If the sampler's thread runs out of memory, it reports an error and continues when there is memory again. Seen
    failing when only Error was caught: the program ended."""
    done = run_sampler("clock-memory", proc)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "done\n", "gpulens: engines cannot be sampled: std::bad_alloc\n")


def test_a_recorded_gpu_has_no_time_to_sample() -> None:
    """--for with an image is an error."""
    done = gpulens("-i", str(image("gp106")), *EXPORT, "--for", "1s")
    assert done.returncode == 3 and "a recorded GPU has no samples" in done.stderr


# --- over HTTP ---

def test_metrics_are_served_until_sigterm(proc: pathlib.Path) -> None:
    """With a real socket: /metrics reads the GPU again each second and adds up the samples, / links to it, any other
    path is 404; SIGTERM ends the server with status 0 within 3 seconds. Seen failing with intervals that are not cut
    where they were counted."""
    with listening("--proc", str(proc)) as (process, url):
        CLOCK.run(0.3)
        status, kind, text = get(url)
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert find_complaints(text) == ""
        first = parse_metrics(text)
        assert first['gpulens_tsgs{gpu="0",runlist="0"}'] == 5
        assert first['gpulens_tsg_engine_seconds_total{gpu="0",engine="GR0",runlist="0",tsg="3"}'] == 0.004
        shutil.copy(image("gp106", "minimal"), proc / "gpu0/snapshot")
        # it comes on again, goes on, and leaves: each seen by another scrape
        for next_sample, seconds in (((9 * MS, ON, 3), 0.004), ((10 * MS, ON, 3), 0.005), ((11 * MS, IDLE, -1), 0.006)):
            with (proc / "gpu0/samples").open("ab") as samples:
                samples.write(recording([next_sample])[4 + 64 + 64:])
            CLOCK.run(CACHED)
            again = parse_metrics(get(url)[2])
            assert again['gpulens_tsg_engine_seconds_total{gpu="0",engine="GR0",runlist="0",tsg="3"}'] == seconds
        assert [name for name in again if 'chip="GP106"' in name]
        assert 'href="/metrics"' in get(url[:-len("metrics")])[2]
        assert get(url + "x")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert CLOCK.wait(process, 3) == 0


def test_a_removed_gpu_does_not_end_the_server(proc: pathlib.Path) -> None:
    """Without any GPU /metrics is status 503, which Prometheus shows as a target that is down, until a GPU is attached
    again. Seen failing with an uncaught exception: status 500."""
    with listening("--proc", str(proc)) as (_, url):
        assert parse_metrics(get(url)[2])["gpulens_gpus"] == 1
        (proc / "gpu0").rename(proc / "away")
        CLOCK.run(CACHED)
        assert get(url)[0] == 503
        (proc / "away").rename(proc / "gpu0")
        CLOCK.run(CACHED)
        assert parse_metrics(get(url)[2])["gpulens_gpus"] == 1


def test_no_sample_does_not_open_samples(proc: pathlib.Path) -> None:
    """--no-sample: the file samples is not opened. Seen failing with the option ignored."""
    before = (proc / "gpu0/samples").read_bytes()
    with listening("--proc", str(proc), "--no-sample") as (_, url):
        assert not [name for name in parse_metrics(get(url)[2]) if "sampler" in name or "tsg_engine" in name]
    assert (proc / "gpu0/samples").read_bytes() == before


def test_a_busy_port_is_an_error() -> None:
    """Status 3 and the address. For a second gpulens, seen failing with cpp-httplib's default socket options: both
    listened, and scrapes went to either."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = gpulens("-i", str(image("gp106")), *EXPORT, "--listen", address)
    assert done.returncode == 3
    assert f"{address}: cannot listen: Address already in use" in done.stderr
    with listening("-i", str(image("gp106"))) as (_, url):
        done = gpulens("-i", str(image("gp106")), *EXPORT, "--listen", url.split("/")[2])
        assert done.returncode == 3


@pytest.mark.parametrize("wrong", ["", ":", ":x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "1.2.3.4:9x", "::1:98"])
def test_a_wrong_address_is_wrong_usage(wrong: str) -> None:
    """Status 2, before anything is opened."""
    assert gpulens("-i", str(image("gp106")), *EXPORT, f"--listen={wrong}").returncode == 2


# --- hostile clients ---

def connect_to(url: str, *, window: int = 0) -> socket.socket:
    """A connection to the server at that address; window: size of the receive buffer."""
    host, port = url.split("/")[2].split(":")
    client = socket.socket()
    if window:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    client.settimeout(60)
    client.connect((host, int(port)))
    return client


def send_request(url: str, request: bytes) -> bytes:
    """Sends the request and returns everything up to the end of the connection."""
    with connect_to(url) as client:
        client.sendall(request)
        answer = b""
        while more := client.recv(65536):
            answer += more
    return answer


def peak_mb(process: "subprocess.Popen[str]") -> float:
    """The peak memory of the process."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", text)[0]) / 1024


def count_closed(clients: typing.List[socket.socket]) -> int:
    """The number of these connections that the server has closed so far."""
    gone = 0
    for client in clients:
        client.setblocking(False)
        try:
            gone += client.recv(1 << 20) == b""
        except BlockingIOError:
            pass
        except OSError:
            gone += 1
    return gone


def test_a_collection_serves_all_scrapes_of_a_second(proc: pathlib.Path) -> None:
    """stats changes before each of 40 scrapes, 100 ms apart: the scrapes show a value of each second. Seen failing with
    a collection for each scrape: all 40."""
    seen = set()
    with listening("--proc", str(proc), "--no-sample") as (_, url):
        for number in range(40):
            CLOCK.run(0.1)
            (proc / "gpu0/stats").write_text(f"something_new {number}\n")
            seen.add(parse_metrics(get(url)[2])['gpulens_something_new_total{gpu="0"}'])
        assert 3 <= len(seen) <= 5
        CLOCK.run(CACHED)
        assert parse_metrics(get(url)[2])['gpulens_something_new_total{gpu="0"}'] == 39


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_only_get_and_head_are_answered(method: str) -> None:
    """Other methods give 405, which names these two. Seen failing with 404, after the body was read."""
    with listening("-i", str(image("gp106"))) as (_, url):
        answer = send_request(url, f"{method} /metrics HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 405 ") and b"\r\nAllow: GET, HEAD\r\n" in answer


def test_head_returns_the_headers_only() -> None:
    """The headers of GET, and no body."""
    with listening("-i", str(image("gp106"))) as (_, url):
        whole, head = (send_request(url, f"{m} /metrics HTTP/1.1\r\nHost: x\r\n\r\n".encode()) for m in ("GET", "HEAD"))
    fields, body = whole.split(b"\r\n\r\n", 1)
    assert head.endswith(b"\r\n\r\n") and f"Content-Length: {len(body)}".encode() in head
    assert b"Connection: close" in fields and body.startswith(b"# HELP gpulens_gpus ")


GREEDY = {
    "length": (b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2147483648\r\n\r\n", b"x" * (1 << 20)),
    "get": (b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2147483648\r\n\r\n", b"x" * (1 << 20)),
    "chunked": (b"POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"),
    "gzip": (b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
             b"100000\r\n" + b"\0" * (1 << 20) + b"\r\n"),
    "header": (b"GET /metrics HTTP/1.1\r\nHost: x\r\nLong: ", b"x" * (1 << 20)),
    "headers": (b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"X-Y: z\r\n" * (1 << 17)),
    "address": (b"GET /", b"x" * (1 << 20)),
    "nothing": (b"", b"\0" * (1 << 20)),
    "lines": (b"", b"\r\n" * (1 << 19)),
}


@pytest.mark.parametrize("name", sorted(GREEDY))
def test_large_requests_are_not_read(name: str) -> None:
    """2 GB as a body, a header, many headers or an address: the server closes the connection after a few MB, which the
    kernel buffers, and uses less than 64 MB. Seen failing with cpp-httplib: it took 1 GB of a body by its length."""
    head, more = GREEDY[name]
    sent = 0
    with listening("-i", str(image("gp106"))) as (process, url):
        with connect_to(url) as client:
            try:
                client.sendall(head)
                while sent < 1 << 31:
                    client.sendall(more)
                    sent += len(more)
            except OSError:
                pass
        assert sent < 64 << 20
        assert get(url)[0] == 200
        assert peak_mb(process) < 64


def test_idle_clients_do_not_block_scrapes(proc: pathlib.Path) -> None:
    """1200 idle connections, opened again when they are closed: each scrape is answered in less than a second, and the
    server has at most 160 open files and 64 MB. Seen failing with cpp-httplib: no answer, 1142 files."""
    with listening("--proc", str(proc)) as (process, url), contextlib.ExitStack() as stack:
        for _ in range(3):
            for _ in range(400):
                stack.enter_context(connect_to(url))
            scrape_page(url, 1)
            CLOCK.run(1)
        assert len(os.listdir(f"/proc/{process.pid}/fd")) <= 160
        assert peak_mb(process) < 64


def test_a_request_has_a_deadline(proc: pathlib.Path) -> None:
    """100 clients send a byte of a request every 100 ms: all are disconnected within 4 seconds, and scrapes are
    answered meanwhile. Seen failing with cpp-httplib: four such clients block all others."""
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 1000
    with listening("--proc", str(proc)) as (process, url), contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect_to(url)) for _ in range(100)]
        for sent in range(40):
            for client in clients:
                with contextlib.suppress(OSError):
                    client.send(request[sent:sent + 1])
            assert get(url)[0] == 200
            CLOCK.run(0.1)
        CLOCK.await_outside(lambda: count_closed(clients) == 100)
        assert peak_mb(process) < 64


def test_an_answer_has_a_deadline(proc: pathlib.Path) -> None:
    """200 clients send requests and never read the answers, which are larger than the kernel's buffers: scrapes are
    answered meanwhile, and all clients are disconnected within 8 seconds. Seen failing without close_overdue() for
    answers."""
    (proc / "gpu0/stats").write_text("".join(f"read_{n:05}{'n' * 200} 1\n" for n in range(4000)))
    with listening("--proc", str(proc), "--no-sample") as (process, url), contextlib.ExitStack() as stack:
        clients = []
        for _ in range(200):
            clients.append(stack.enter_context(connect_to(url, window=2048)))
            with contextlib.suppress(OSError):
                clients[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        scrape_page(url, 1)
        held = len(os.listdir(f"/proc/{process.pid}/fd"))
        assert held > 100, f"{held} files open: the kernel took the answers"
        CLOCK.run(8)
        fds = os.listdir(f"/proc/{process.pid}/fd")
        assert len(fds) < 32, f"{len(fds)} files open"
        assert peak_mb(process) < 64


@pytest.mark.parametrize("odd", [
    b"GET\r\n\r\n", b"GET /metrics\r\n\r\n", b"GET /metrics HTTP/9.9\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\0\x01\0\x01\xfc",
    b"GET /metrics HTTP/1.1\r\n\r\n", b"GET http://x/metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /metrics%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nGET /",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1,5-99999999999999999999\r\n\r\n"])
def test_the_server_survives_an_odd_request(odd: bytes) -> None:
    """Whatever the answer to it, the next scrape succeeds."""
    with listening("-i", str(image("gp106"))) as (process, url):
        with connect_to(url) as client:
            client.sendall(odd)
            client.shutdown(socket.SHUT_WR)
            CLOCK.run(5)
            with contextlib.suppress(ConnectionError):
                assert b"root:" not in client.recv(65536)
        assert get(url)[0] == 200 and process.poll() is None


def test_server_keeps_cap_perfmon_only(proc: pathlib.Path) -> None:
    """Each thread keeps only CAP_PERFMON, which the module checks at each read, and cannot gain others through exec.
    Seen failing with all of root's capabilities."""
    if os.geteuid():
        pytest.skip("has no capabilities to give up")
    with listening("--proc", str(proc)) as (process, url):
        assert get(url)[0] == 200
        tasks = list(pathlib.Path(f"/proc/{process.pid}/task").glob("*/status"))
        assert len(tasks) >= 3, "the main thread, the server's, the sampler's"
        for task in tasks:
            status = dict(line.split(":\t", 1) for line in task.read_text().splitlines() if ":\t" in line)
            for name in ("CapPrm", "CapEff", "CapBnd"):
                assert int(status[name], 16) & ~(1 << 38) == 0, (name, status[name])
            assert int(status["CapInh"], 16) == int(status["CapAmb"], 16) == 0 and status["NoNewPrivs"] == "1"
