# SPDX-License-Identifier: GPL-2.0
"""The files of docs/deploy: their syntax, and the dashboard and rules with a real Prometheus server that scrapes a
fleet of 50 machines."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import types
import typing

import pytest
from support.fleet import PROCESS, PROCESS_LINE, UNKNOWN_SHARE, Fleet, Json, fleet
from support.program import ROOT, gpulens

DEPLOY = ROOT / "docs/deploy"
PORT = "10835"


def yaml_of(name: str) -> typing.List[Json]:
    """The documents of a YAML file."""
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def run_promtool(*words: str) -> None:
    """Runs promtool, which must find no error."""
    done = subprocess.run(["promtool", *words], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_is_described() -> None:
    """docs/deploy.md links each file, and each link leads to a file. Seen failing with one more file."""
    linked = set(re.findall(r"\]\(deploy/([^)]+)\)", (ROOT / "docs/deploy.md").read_text(encoding="utf-8")))
    assert linked == {path.name for path in DEPLOY.iterdir()}


def test_prometheus_accepts_configuration_and_rules() -> None:
    """promtool checks the configuration with its rules. Seen failing with an unknown key."""
    run_promtool("check", "config", "docs/deploy/prometheus.yml")
    jobs = [config["scrape_configs"][0]["job_name"] for name in ("prometheus.yml", "prometheus-kubernetes.yml")
            for config in yaml_of(name)]
    assert jobs == ["gpulens", "gpulens"], "GpulensExporterDown asks for this name"


def test_alerts_fire_after_their_time() -> None:
    """tests/support/deploy/rules_test.yml has a case for each alert in which it fires, and all cases pass. Seen failing
    with a changed threshold, and with a changed time."""
    run_promtool("test", "rules", "tests/support/deploy/rules_test.yml")
    alerts = re.findall(r"- alert: (\w+)", (DEPLOY / "gpulens.rules.yml").read_text(encoding="utf-8"))
    cases = (ROOT / "tests/support/deploy/rules_test.yml").read_text(encoding="utf-8")
    assert len(alerts) == 9
    for alert in alerts:
        assert re.search(rf"alertname: {alert}\n +exp_alerts:\n", cases), alert


def test_manifest_has_the_least_rights() -> None:
    """A namespace and a DaemonSet that adds only CAP_PERFMON, mounts nothing, and calls the tool with existing options.
    Seen failing with privileged: true."""
    namespace, daemons = yaml_of("daemonset.yaml")
    assert (namespace["kind"], daemons["kind"]) == ("Namespace", "DaemonSet")
    assert daemons["metadata"]["namespace"] == namespace["metadata"]["name"]
    pod = daemons["spec"]["template"]
    assert daemons["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [container] = pod["spec"]["containers"]
    rights = container["securityContext"]
    assert rights["capabilities"] == {"drop": ["ALL"], "add": ["PERFMON"]}
    assert rights["allowPrivilegeEscalation"] is False and rights["readOnlyRootFilesystem"] is True
    assert "privileged" not in rights and "volumes" not in pod["spec"] and "hostNetwork" not in pod["spec"]
    assert container["ports"] == [{"name": "metrics", "containerPort": int(PORT)}]
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == PORT
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert container["args"] == ["--listen", f":{PORT}"]


def test_manifest_has_what_kubernetes_knows() -> None:
    """The Kubernetes project's own model of each object takes the manifest, and gives every field back: it knows them
    all and has their types. Seen failing with periodSecond, which is not a field, and without the selector."""
    client = pytest.importorskip("kubernetes.client")
    api = client.ApiClient()
    for document in yaml_of("daemonset.yaml"):
        answer = types.SimpleNamespace(data=json.dumps(document))
        assert api.sanitize_for_serialization(api.deserialize(answer, f"V1{document['kind']}")) == document


def test_container_file_builds_what_the_tree_has() -> None:
    """Its instructions are known, the files that it copies and runs exist, and its command is one of the tool. The
    image is not built here. Seen failing with scripts/deb-build."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "EXPOSE", "USER", "ENTRYPOINT", "CMD"}
    assert {line.split()[0] for line in lines} == known
    assert (ROOT / "scripts/build-deb").exists() and "scripts/build-deb" in text
    entry = json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).split(" ", 1)[1])
    command = json.loads(next(line for line in lines if line.startswith("CMD")).split(" ", 1)[1])
    assert entry[0] == "/usr/bin/gpulens" and command == ["--listen", f":{PORT}"] and f"EXPOSE {PORT}" in lines
    words = gpulens(entry[1], "--help").stdout
    assert all(word in words for word in (*entry[2:], command[0]))


def test_one_port_everywhere() -> None:
    """The unit, the files of docs/deploy and the documents name the same port, which no other project uses. Seen
    failing with 9835 in README.md."""
    files = [*DEPLOY.iterdir(), ROOT / "README.md", ROOT / "docs/export.md", ROOT / "docs/deploy.md",
             ROOT / "tools/gpulens/cmd/gpulens-export.service.in", ROOT / "tools/gpulens/cli/record.cc"]
    ports = {(path.name, port) for path in files
             for port in re.findall(r":(9\d{3}|1\d{4})\b", path.read_text(encoding="utf-8"))}
    assert {port for _, port in ports} <= {PORT, "10836"}, ports
    assert len({name for name, port in ports if port == PORT}) >= 8


def test_module_options_exist() -> None:
    """modprobe.d names parameters that the module has, and the udev rule loads the module of modules-load.d. Seen
    failing with group=."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/linux").glob("*.c"))
    options = re.findall(r"^#?options gpulens (\w+)=", (DEPLOY / "gpulens.modprobe.conf").read_text(), re.M)
    assert options and set(options) <= set(re.findall(r"module_param\w*\((\w+)", sources))
    load = [line for line in (DEPLOY / "gpulens.modules-load.conf").read_text().splitlines() if line[0] != "#"]
    rule = [line for line in (DEPLOY / "70-gpulens.rules").read_text().splitlines() if line[0] != "#"]
    assert load == ["gpulens"] and len(rule) == 1
    parts = rule[0].split(", ")
    assert all(re.fullmatch(r'[A-Z]+(\{\w+\})?(==|\+=|=)"[^"]+"', part) for part in parts)
    assert parts[-1] == 'RUN{builtin}+="kmod load gpulens"'


# --- the fleet ---

def dashboard_queries() -> typing.List[typing.Tuple[str, str]]:
    """Title and expression of each query of the dashboard, with Grafana's variables replaced."""
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
    found = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel["targets"]]
    for name, value in {"$__rate_interval": "5s", "$__range": "1m", "$instance": ".*", "$gpu": ".*"}.items():
        found = [(title, expression.replace(name, value)) for title, expression in found]
    return found


def program_of(pid: int) -> str:
    """The name of the program that a process runs; empty: it has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[0].rsplit("/", 1)[-1]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture(name="scraped", scope="module")
def fixture_scraped(tmp_path_factory: pytest.TempPathFactory) -> typing.Iterator[Fleet]:
    """50 machines, three of them real exporters, scraped each second for 12 s."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    with fleet(tmp_path_factory.mktemp("fleet"), real=3, machines=50, seconds=12) as made:
        yield made


def test_dashboard_is_answered(scraped: Fleet) -> None:
    """Each query of the dashboard has an answer, and all of its variables are known here. Seen failing with
    gpulens_engine_busy_total."""
    asked = dashboard_queries()
    assert len(asked) == 19
    for title, expression in asked:
        assert "$" not in expression, title
        assert scraped.prometheus.query(expression), title
    answers = {title: scraped.prometheus.query(expression, scraped.time_s) for title, expression in asked}
    counts = {"Machines": 50, "GPUs": 50, "GPUs that cannot be read": 0, "GPUs that are not sampled": 0}
    for title, value in counts.items():
        assert answers[title][0][1] == value, title
    assert len(answers["The fleet"]) == 50
    busy = {labels["instance"]: value for labels, value in answers["Engines with work"]}
    assert set(busy) == set(scraped.shares)
    clocks = scraped.clocks("rate({}[5s])")
    for machine, share in busy.items():
        if machine not in scraped.seconds:
            assert share / clocks[machine] == pytest.approx(sum(scraped.shares[machine].values()), rel=1e-4), machine


def test_processes_are_those_that_the_exporter_exports() -> None:
    """The machines that are not real have the labels that docs/export.md describes, which test_metrics.py compares with
    what is exported. Seen failing without evidence."""
    row = re.search(rf"^\| `{PROCESS}` \| counter \| seconds \| ([^|]+) \|", (ROOT / "docs/export.md").read_text(
        encoding="utf-8"), re.M)
    assert row and re.findall(r'(\w+)="', PROCESS_LINE) == row[1].split(", ")


Series = typing.List[typing.Tuple[typing.Dict[str, str], float]]


def dashboard_answers(scraped: Fleet, *titles: str) -> typing.List[Series]:
    """The answers to these queries of the dashboard."""
    asked = dict(dashboard_queries())
    return [scraped.prometheus.query(asked[title], scraped.time_s) for title in titles]


def process_shares(scraped: Fleet) -> typing.Dict[typing.Tuple[str, ...], float]:
    """By machine, GPU, pid, process and user: the shares of GR0 on the machines that are not real."""
    shares = {}
    for machine in sorted(set(scraped.shares) - set(scraped.seconds)):
        number = int(machine[1:])
        shares[(machine, "0", str(1000 + number), "python3", "alice")] = scraped.shares[machine]["3"]
        shares[(machine, "0", str(2000 + number), "train", "bob")] = scraped.shares[machine]["5"]
    return shares


PROCESS_LABELS = ("instance", "gpu", "pid", "process", "user")


def test_processes_have_their_times_on_each_gpu(scraped: Fleet) -> None:
    """The dashboard's table has the 50 processes with the most time, with machine, GPU and chip, each with its share of
    the time that its machine ran. Seen failing with the shares of the next machine."""
    [table] = dashboard_answers(scraped, "Who used which GPU, how long")
    seconds = {tuple(row.get(name, "") for name in PROCESS_LABELS): value for row, value in table}
    shares, clocks = process_shares(scraped), scraped.clocks("increase({}[1m])")
    assert len(seconds) == 50 and set(seconds) <= set(shares)
    assert {row["chip"] for row, _ in table} == {"GP106"}
    for key, value in seconds.items():
        assert value / clocks[key[0]] == pytest.approx(shares[key], rel=1e-4), key
    assert shares[("m03", "0", "2003", "train", "bob")] == 0.57 and ("m03", "0", "2003", "train", "bob") in seconds


def test_processes_have_their_shares(scraped: Fleet) -> None:
    """The dashboard's graph has the 20 processes with the largest shares, each with its own share. Seen failing with
    the shares of the next machine."""
    [graph] = dashboard_answers(scraped, "Share of each process")
    shares, clocks = process_shares(scraped), scraped.clocks("rate({}[5s])")
    found = {tuple(row[name] for name in PROCESS_LABELS): value for row, value in graph}
    assert len(found) == 20 and set(found) <= set(shares)
    for key, value in found.items():
        assert value / clocks[key[0]] == pytest.approx(shares[key], rel=1e-4), key


def test_times_of_users_and_pods_are_summed_over_machines(scraped: Fleet) -> None:
    """The time of each user and pod is the sum over 47 machines of its shares of the time that each ran. Seen failing
    with the shares of the next machine."""
    users, pods, unknown = dashboard_answers(scraped, "Time of each user", "Time of each pod",
                                             "Time of unknown processes")
    clocks = scraped.clocks("increase({}[1m])")
    assert len(clocks) == 47
    assert sum(value for key, value in process_shares(scraped).items() if key[4] == "bob") == pytest.approx(15.98)
    assert sum(value for key, value in process_shares(scraped).items() if key[4] == "alice") == pytest.approx(10.81)
    expected = {"alice": 0.0, "bob": 0.0}
    of_pod = {"0": 0.0, "1": 0.0}
    for (machine, _, _, _, user), share in process_shares(scraped).items():
        expected[user] += share * clocks[machine]
        if user == "bob":
            of_pod[str(int(machine[1:]) % 2)] += share * clocks[machine]
    assert {row["user"]: value for row, value in users} == pytest.approx(expected, rel=1e-4)
    assert {row["pod"][-1]: value for row, value in pods} == pytest.approx(of_pod, rel=1e-4)
    of_unknown = UNKNOWN_SHARE * sum(clocks.values())
    assert unknown[0][1] == pytest.approx(of_unknown / (of_unknown + sum(expected.values())), rel=1e-4)


def test_a_killed_test_leaves_no_server_behind(tmp_path: pathlib.Path) -> None:
    """A process that started a Prometheus and an exporter is killed: both end. Seen failing without setpriv."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    script = """if True:
        import pathlib, time
        from support.exporter import fake_proc, listening
        from support.fleet import Prometheus
        folder = pathlib.Path(FOLDER)
        fake_proc(folder / "proc")
        with listening("--proc", str(folder / "proc")) as (exporter, _):
            print(Prometheus(folder, []).process.pid, exporter.pid, flush=True)
            time.sleep(600)
        """.replace("FOLDER", repr(str(tmp_path)))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={
            **os.environ, "PYTHONPATH": f"{ROOT}/scripts:{ROOT}/tests"}) as process:
        assert process.stdout
        pids = [int(word) for word in process.stdout.readline().split()]
        # before both are these programs, setpriv may not have asked for the signal yet
        end = time.monotonic() + 60
        while (names := [program_of(pid) for pid in pids]) != ["prometheus", "gpulens"] and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
    assert names == ["prometheus", "gpulens"]
    end = time.monotonic() + 60
    while any(program_of(pid) for pid in pids):
        assert time.monotonic() < end, pids
        time.sleep(0.1)


def test_shares_of_tsgs_are_summed_over_machines(scraped: Fleet) -> None:
    """Over all machines, the measured share of each TSG is the one that it was given; for real exporters, the total is
    the sum of their samples. Seen failing with the shares of another machine."""
    rate = 'sum by (instance, gpu, tsg) (rate(gpulens_tsg_engine_seconds_total{engine=~"GR[0-9]+"}[8s]))'
    found = {(labels["instance"], labels["tsg"]): value
             for labels, value in scraped.prometheus.query(rate, scraped.time_s)}
    expected = {(machine, tsg): share for machine, tsgs in scraped.shares.items() for tsg, share in tsgs.items()}
    assert set(found) == set(expected) and len(found) == 100
    clocks, sums = scraped.clocks("rate({}[8s])"), {"3": 0.0, "5": 0.0}
    for key, share in expected.items():
        if key[0] not in scraped.seconds:
            assert found[key] / clocks[key[0]] == pytest.approx(share, rel=1e-4), key
            sums[key[1]] += share * clocks[key[0]]
    total = scraped.prometheus.query(f"sum by (tsg) ({rate} and on (instance) up{{instance!~'m0[012]'}})",
                                     scraped.time_s)
    assert {labels["tsg"]: value for labels, value in total} == pytest.approx(sums, rel=1e-4)
    assert set(scraped.seconds) == {"m00", "m01", "m02"}
    for machine, seconds in scraped.seconds.items():
        series = scraped.prometheus.query(f'gpulens_tsg_engine_seconds_total{{instance="{machine}"}}')
        assert {labels["tsg"]: value for labels, value in series} == pytest.approx(seconds, abs=1e-6), machine


def test_rules_are_evaluated(scraped: Fleet) -> None:
    """The server accepts each rule, and none is in error. Seen failing with a rule that matches many to many."""
    groups = scraped.prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 11
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    assert len(scraped.prometheus.query("instance_gpu_tsg:gpulens_tsg_engine:ratio_rate5m")) == 100
