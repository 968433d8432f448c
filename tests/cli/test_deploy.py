# SPDX-License-Identifier: GPL-2.0
"""The files of docs/deploy: their syntax, their names and numbers. tests/soak/test_dashboard.py has the dashboard and
the rules with a real Prometheus server."""

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
from support.fleet import DEPLOY, PROCESS, PROCESS_LINE, Json, dashboard_queries
from support.program import ROOT, gpulens

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
    """promtool checks the configuration with its rules, and nothing depends on a job's name. Seen failing with an
    unknown key, and with up{job=~"gpulens.*"}."""
    run_promtool("check", "config", "docs/deploy/prometheus.yml")
    for name in ("gpulens.rules.yml", "grafana-dashboard.json"):
        assert "job=" not in (DEPLOY / name).read_text(encoding="utf-8").replace("slurm_job", ""), name


def test_alerts_fire_after_their_time() -> None:
    """tests/support/deploy/rules_test.yml has a case for each alert in which it fires, and all cases pass. Seen failing
    with a changed threshold, and with a changed time."""
    run_promtool("test", "rules", "tests/support/deploy/rules_test.yml")
    alerts = re.findall(r"- alert: (\w+)", (DEPLOY / "gpulens.rules.yml").read_text(encoding="utf-8"))
    cases = (ROOT / "tests/support/deploy/rules_test.yml").read_text(encoding="utf-8")
    assert len(alerts) == 10
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
    assert "annotations" not in pod["metadata"]
    [monitor] = yaml_of("podmonitor.yaml")
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert monitor["metadata"]["namespace"] == namespace["metadata"]["name"]
    assert monitor["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
    assert (endpoint["port"], endpoint["honorLabels"]) == (container["ports"][0]["name"], True)
    assert {"targetLabel": "job", "replacement": "gpulens"} in endpoint["relabelings"]
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
             ROOT / "tools/gpulens/export/gpulens-export.service.in", ROOT / "tools/gpulens/cli/record.cc"]
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


def test_dashboard_asks_for_what_is_exported(tmp_path: pathlib.Path) -> None:
    """promtool accepts each query of the dashboard, its variables are known here, and docs/export.md or the rules have
    its metrics. tests/soak asks a server. Seen failing with gpulens_engine_busy_total, and with a missing bracket."""
    asked = dashboard_queries()
    assert len(asked) == 20 and "$" not in "".join(expression for _, expression in asked)
    rules = [{"record": f"query:{at}", "expr": expression} for at, (_, expression) in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    run_promtool("check", "rules", str(tmp_path / "rules.yml"))
    known = (ROOT / "docs/export.md").read_text(encoding="utf-8")
    names = {name for _, expression in asked for name in re.findall(r"\bgpulens_\w+", expression)}
    assert names and [name for name in names if f"`{name}`" not in known] == []


def program_of(pid: int) -> str:
    """The name of the program that a process runs; empty: it has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[0].rsplit("/", 1)[-1]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_processes_are_those_that_the_exporter_exports() -> None:
    """The machines that are not real have the labels that docs/export.md describes, which test_metrics.py compares with
    what is exported. Seen failing without evidence."""
    row = re.search(rf"^\| `{PROCESS}` \| counter \| seconds \| ([^|]+) \|", (ROOT / "docs/export.md").read_text(
        encoding="utf-8"), re.M)
    assert row and re.findall(r'(\w+)="', PROCESS_LINE) == row[1].split(", ")


def test_the_join_with_pods_names_is_that_of_the_document() -> None:
    """The query that rules_test.yml tries stands in docs/deploy.md."""
    tried = re.search(r"# docs/deploy.md\n +- expr: >-\n(.*?)\n +eval_time", (
        ROOT / "tests/support/deploy/rules_test.yml").read_text(encoding="utf-8"), re.S)
    assert tried and "".join(tried[1].split()) in "".join((ROOT / "docs/deploy.md").read_text(encoding="utf-8").split())


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
