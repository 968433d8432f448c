# SPDX-License-Identifier: GPL-2.0
"""The dashboard and the rules of docs/deploy with a real Prometheus server that scrapes a fleet of 50 machines. It does
so in real time: on a busy machine it misses scrapes."""

import shutil
import typing

import pytest
from support.fleet import UNKNOWN_SHARE, Fleet, dashboard_queries, fleet


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
    assert len(asked) == 20
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
    assert len(rules) == 13
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    assert len(scraped.prometheus.query("instance_gpu_tsg:gpulens_tsg_engine:ratio_rate5m")) == 100
