# SPDX-License-Identifier: GPL-2.0
"""A fleet for a Prometheus server, and that server. Some machines are real exporters on folders in place of /proc, the
others answer with a page of such an exporter in which time advances."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import typing
import urllib.parse
import urllib.request

from support.exporter import MS, get, listening, recording
from support.fakeproc import IDLE, ON, FakeProc, Tsg, snapshot
from support.program import ENDS_WITH_PARENT, ROOT

DEPLOY = ROOT / "docs/deploy"
TIME = re.compile(r'^(gpulens_tsg_engine_seconds_total\{.*tsg="(\w+)"\}) .*$', re.M)
BUSY = re.compile(r"^(gpulens_engine_busy_seconds_total\{.*\}) .*$", re.M)
PROCESS = "gpulens_process_engine_seconds_total"
# As tests/tools/owner_test.cc has them of the exporter; test_deploy.py compares the labels with docs/export.md.
PROCESS_HEAD = f"# HELP {PROCESS} Time of a process on an engine, from samples.\n# TYPE {PROCESS} counter\n"
PROCESS_LINE = (PROCESS + '{{gpu="0",engine="GR0",pid="{pid}",process="{process}",user="{user}",'
                'container="{container}",pod="{pod}",slurm_job="{job}",slurm_step="",evidence="{evidence}"}} '
                '{seconds:.6f}\n')
UNKNOWN_SHARE = 0.01  # of GR0, on each machine that is not real
CLOCK = "replayed_seconds_total"  # seconds since a machine that is not real began, on the page of its times
Json = typing.Dict[str, typing.Any]


def dashboard_queries() -> typing.List[typing.Tuple[str, str]]:
    """Title and expression of each query of the dashboard, with Grafana's variables replaced."""
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
    found = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel["targets"]]
    for name, value in {"$__rate_interval": "5s", "$__range": "1m", "$instance": ".*", "$gpu": ".*"}.items():
        found = [(title, expression.replace(name, value)) for title, expression in found]
    return found


class RealMachine:
    """An exporter whose engine GR0 alternates between two TSGs, as long as advance() is called."""

    def __init__(self, folder: pathlib.Path, shares: typing.Dict[int, float]) -> None:
        self.folder, self.shares = folder, shares
        self.now_ms = 10
        self.seconds = {str(tsg): 0.0 for tsg in shares}
        (folder / "gpu0").mkdir(parents=True)
        FakeProc(folder).show(snapshot({0: [Tsg(tsg, 2 * MS, ()) for tsg in shares]}, time_ns=MS))
        (folder / "gpu0/stats").write_text("sample_ticks 100\nsample_ticks_lost 0\nwindow_stopped_ns 1000\n")
        (folder / "gpu0/samples").write_bytes(recording([]))

    def advance(self, milliseconds: int) -> None:
        """Advances time; each TSG has its share, and the engine is idle for the rest."""
        samples, begin = [], self.now_ms
        for tsg, share in self.shares.items():
            end = begin + round(milliseconds * share)
            samples += [(t * MS, ON, tsg) for t in range(begin, end, 10)]
            self.seconds[str(tsg)] += (end - begin) / 1000
            begin = end
        samples.append((begin * MS, IDLE, -1))
        self.now_ms += milliseconds
        with (self.folder / "gpu0/samples").open("ab") as file:
            file.write(recording(samples)[4 + 64 + 64:])


def process_lines(machine: str, shares: typing.Dict[str, float], seconds: float) -> str:
    """The time of processes on a machine: TSG 3 is alice's, TSG 5 bob's, in one of two pods."""
    number = int(machine[1:])
    pod = "aaaaaaaa-0000-0000-0000-00000000000" + str(number % 2)
    lines = [PROCESS_LINE.format(pid=1000 + number, process="python3", user="alice", container="", pod="",
                                 job="402", evidence="resident", seconds=shares["3"] * seconds),
             PROCESS_LINE.format(pid=2000 + number, process="train", user="bob", container="ab" * 32, pod=pod,
                                 job="", evidence="reported", seconds=shares["5"] * seconds),
             PROCESS_LINE.format(pid="", process="", user="", container="", pod="", job="", evidence="unknown",
                                 seconds=UNKNOWN_SHARE * seconds)]
    return PROCESS_HEAD + "".join(lines)


class Replayed(http.server.ThreadingHTTPServer):
    """Machines behind one address: /NAME/metrics is the page with the shares of that machine since the server started,
    and processes."""

    daemon_threads = True

    def __init__(self, page: str, shares: typing.Dict[str, typing.Dict[str, float]]) -> None:
        super().__init__(("127.0.0.1", 0), ReplayHandler)
        self.page, self.shares, self.begun = page, shares, time.monotonic()

    def text(self, machine: str) -> str:
        """The present page of a machine."""
        shares, seconds = self.shares[machine], time.monotonic() - self.begun
        text = TIME.sub(lambda m: f"{m[1]} {shares[m[2]] * seconds:.6f}", self.page)
        text = BUSY.sub(lambda m: f"{m[1]} {sum(shares.values()) * seconds:.6f}", text)
        return text + process_lines(machine, shares, seconds) + f"# TYPE {CLOCK} counter\n{CLOCK} {seconds:.6f}\n"


class ReplayHandler(http.server.BaseHTTPRequestHandler):
    """Answers GET."""

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        """Answers a scrape; http.server prescribes the name."""
        assert isinstance(self.server, Replayed)
        body = self.server.text(self.path.split("/")[1]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # pylint: disable=redefined-builtin
        """Logs nothing."""


class Prometheus:
    """A Prometheus server; url is its address."""

    def __init__(self, folder: pathlib.Path, groups: typing.List[Json]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        shutil.copy(ROOT / "docs/deploy/gpulens.rules.yml", folder)
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["gpulens.rules.yml"],
                  "scrape_configs": [{"job_name": "gpulens", "static_configs": groups}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*ENDS_WITH_PARENT, "prometheus", f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.url[7:]}",
                 "--log.level=warn"], stdout=log, stderr=log,
                env={**os.environ, "GOMAXPROCS": "1"})

    def ask(self, path: str, **arguments: str) -> typing.Any:
        """The answer of its API."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=60) as done:
            answer = json.load(done)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str, time_s: typing.Optional[float] = None
              ) -> typing.List[typing.Tuple[typing.Dict[str, str], float]]:
        """Labels and value of each series, now or at a Unix time."""
        answer = self.ask("query", query=expression, **({} if time_s is None else {"time": f"{time_s:.3f}"}))
        return [(series["metric"], float(series["value"][1])) for series in answer["result"]]

    def wait(self, true: typing.Callable[[], bool], what: str) -> None:
        """Waits until the condition holds, 60 s at most."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if true():
                    return
            assert self.process.poll() is None, "it has ended"
            time.sleep(0.2)
        raise AssertionError(what)

    def close(self) -> None:
        """Ends the server."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


class Fleet(typing.NamedTuple):
    """A Prometheus that has scraped all machines for a while; by machine and TSG: the shares of GR0, and the sum of the
    samples of real exporters; a Unix time until which the server has all samples."""
    prometheus: Prometheus
    shares: typing.Dict[str, typing.Dict[str, float]]
    seconds: typing.Dict[str, typing.Dict[str, float]]
    time_s: float

    def clocks(self, function: str) -> typing.Dict[str, float]:
        """By machine that is not real: rate or increase of its clock over a range, as "rate({}[5s])". The server
        extrapolates it as it does the times on the same page, so that their quotient is a share, however late a machine
        was scraped."""
        found = self.prometheus.query(function.format(CLOCK), self.time_s)
        return {labels["instance"]: value for labels, value in found}


def run_for(machines: typing.List[RealMachine], seconds: float) -> None:
    """Advances the machines in real time."""
    begun = last = time.monotonic()
    while last < begun + seconds:
        time.sleep(0.1)
        now = time.monotonic()
        for machine in machines:
            machine.advance(round(1000 * (now - last)))
        last = now


@contextlib.contextmanager
def fleet(folder: pathlib.Path, *, real: int, machines: int, seconds: float) -> typing.Iterator[Fleet]:
    """Machines m00, m01, ..., of which the first ones are real exporters."""
    names = [f"m{i:02}" for i in range(machines)]
    shares = {name: {"3": round(0.1 + 0.005 * i, 3), "5": round(0.6 - 0.01 * i, 3)} for i, name in enumerate(names)}
    with contextlib.ExitStack() as stack:
        running, groups = [], []
        for name in names[:real]:
            running.append(RealMachine(folder / name, {int(tsg): share for tsg, share in shares[name].items()}))
            running[-1].advance(100)
            _, url = stack.enter_context(listening("--proc", str(folder / name), by_clock=False))
            groups.append({"targets": [url.split("/")[2]], "labels": {"instance": name}})
        time.sleep(1.2)
        server = stack.enter_context(Replayed(get(f"http://{groups[0]['targets'][0]}/metrics")[2], shares))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        groups += [{"targets": [f"127.0.0.1:{server.server_port}"],
                    "labels": {"instance": name, "__metrics_path__": f"/{name}/metrics"}} for name in names[real:]]
        prometheus = Prometheus(folder, groups)
        stack.callback(prometheus.close)
        prometheus.wait(lambda: len(prometheus.query("up == 1")) == machines, "a machine is not scraped")
        run_for(running, seconds)
        time.sleep(3)  # until the last samples are scraped, from a cached page at first
        # a scrape ends after its interval of 1 s at most
        seconds_of = {machine.folder.name: machine.seconds for machine in running}
        yield Fleet(prometheus, shares, seconds_of, time.time() - 1.5)
