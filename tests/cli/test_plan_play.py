# SPDX-License-Identifier: GPL-2.0
"""gpulens plan --play: plans that are simulated, and what of a job is not GPU work. Expected times are worked out by
hand."""

import json
import pathlib
import typing
import xml.etree.ElementTree

from support.program import ROOT, gpulens, image
from test_plan import SVG, make_task, run_checked, write_tasks


def test_a_plan_is_played(tmp_path: pathlib.Path) -> None:
    """On one TPC, a (15 of 100 ms) and b (30 of 50 ms). Without preemption b runs from 0 to 30, a to 45, b from 50 to
    80. A control of 1 ms and switches of 0.5 ms: from 1.5 to 31.5, to 48, from 51.5 to 81.5. By deadlines,
    preemptive, and a of 60 of 200 ms: b 0 to 30, a to 50, b to 80, a to 100, b to 130, a from 130 to 150. Seen
    failing with a job chosen at once, without `control`."""
    file = write_tasks(tmp_path, make_task("a", alone={"a_us": 15000}), make_task("b", alone={"a_us": 30000},
                                                                                  period_us=50000))

    def play(*words: str) -> typing.Any:
        told = run_checked("plan", file, "--tpcs", "1", "--serial", "--play", *words)["play"]
        return [(task["name"], task["jobs"], task["missed"], task["mean_response_us"], task["worst_response_us"])
                for task in told["tasks"]]
    assert play("100ms") == [("a", 1, 0, 45000, 45000), ("b", 2, 0, 30000, 30000)]
    assert play("100ms", "--control", "1ms", "--switch", "500us") == [
        ("a", 1, 0, 48000, 48000), ("b", 2, 0, 31500, 31500)]
    text = gpulens("plan", file, "--tpcs", "1", "--serial", "--play", "100ms", "-o", str(tmp_path / "p.svg"))
    assert "Simulated for 100.000 ms, each job as long as planned" in text.stdout, text.stderr
    picture = xml.etree.ElementTree.parse(tmp_path / "p.svg").getroot()
    bars = [title.text for title in picture.iterfind(f"{SVG}rect/{SVG}title")]
    assert bars == ["b: 30 ms at 0 ms", "a: 15 ms at 30 ms", "b: 30 ms at 50 ms"]
    file = write_tasks(tmp_path, make_task("a", alone={"a_us": 60000}, period_us=200000),
                       make_task("b", alone={"a_us": 30000}, period_us=50000))
    assert play("200ms", "--test", "edf") == [("a", 1, 0, 150000, 150000), ("b", 4, 0, 30000, 30000)]


def test_what_is_not_gpu_work_is_taken_from_period_and_deadline(tmp_path: pathlib.Path) -> None:
    """T = D = 50 ms, jitter 2, before 3, after 4: GPU work is 45 ms apart and has 41 ms. A task of 41 ms fits, one of
    42 does not. Played, one job comes each 50 ms. Seen failing with `after` counted from the period as well."""
    margins = {"jitter_us": 2000, "before_us": 3000, "after_us": 4000, "period_us": 50000}
    file = write_tasks(tmp_path, make_task("a", **margins, alone={"a_us": 41000}))
    plan = run_checked("plan", file, "--tpcs", "1", "--play", "1s")
    assert (plan["tasks"][0]["period_us"], plan["tasks"][0]["deadline_us"]) == (45000, 41000)
    assert (plan["play"]["tasks"][0]["jobs"], plan["play"]["tasks"][0]["worst_response_us"]) == (20, 41000)
    longer = make_task("a", **margins, alone={"a_us": 42000})
    run_checked("plan", write_tasks(tmp_path, longer), "--tpcs", "1", status=1)
    file = write_tasks(tmp_path, make_task("a", **{**margins, "after_us": 45000}, alone={"a_us": 1}))
    done = gpulens("plan", file, "--tpcs", "1")
    assert (done.returncode, done.stderr) == (
        2, f'gpulens: {file}: task "a": jitter_us, before_us and after_us leave no time until deadline_us\n')


def test_a_plan_is_played_with_measured_times(tmp_path: pathlib.Path) -> None:
    """Times of 10 and 20 ms on one TPC, of which the plan takes 20: half of the jobs take 10. A task without times is
    refused."""
    file = write_tasks(tmp_path, make_task("a", alone={"times_us": {"1": 20000}}, period_us=50000))
    times = tmp_path / "times.csv"
    times.write_text("task,tpcs,time_us\na,1,10000\na,1,20000\n", encoding="ascii")
    words = ("plan", file, "--tpcs", "1", "--play", "10s", "--times", str(times))
    told = run_checked(*words)["play"]
    assert told["measured"] and told["tasks"][0]["jobs"] == 200 and told["tasks"][0]["worst_response_us"] == 20000
    assert 13000 < told["tasks"][0]["mean_response_us"] < 17000
    times.write_text("task,tpcs,time_us\nb,1,10000\n", encoding="ascii")
    done = gpulens(*words)
    assert (done.returncode, done.stderr) == (2, 'gpulens: task "a" has no times alone\n')


def test_a_plan_and_speed_ups_are_drawn(tmp_path: pathlib.Path) -> None:
    """Each TPC of TU102's 34 with its partition; TPCs 0 and 1 are reserved. Speed-ups of 1, 2 and 3 are markers."""
    drawn = gpulens("-i", str(image("tu102")), "plan", str(ROOT / "docs/plan-example.json"), "--memory", "separate",
                    "-o", str(tmp_path / "plan.svg"), "--json")
    placed = {tpc: i for i, partition in enumerate(json.loads(drawn.stdout)["partitions"])
              for tpc in partition["place"]["tpcs"]}
    titles = xml.etree.ElementTree.parse(tmp_path / "plan.svg").iterfind(f"{SVG}rect/{SVG}title")
    assert sorted(str(title.text) for title in titles) == sorted(
        f"TPC {i}: " + (f"partition {placed[i]}" if i in placed else "free or reserved") for i in range(34))
    times = tmp_path / "times.csv"
    times.write_text("task,tpcs,time_us\na,1,60\na,2,30\na,3,20\n", encoding="ascii")
    assert gpulens("fit", str(times), "--svg", str(tmp_path / "fit.svg")).returncode == 0
    circles = list(xml.etree.ElementTree.parse(tmp_path / "fit.svg").iterfind(f"{SVG}circle"))
    heights = [float(circle.attrib["cy"]) for circle in circles]
    assert len(heights) == 3 and abs(heights[0] - 2 * heights[1] + heights[2]) < 0.2 and heights[2] < heights[0]
