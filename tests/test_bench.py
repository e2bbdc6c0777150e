"""The benchmark: what it measures, and what it prints. Nothing here depends on how fast a machine is."""

import json
from dataclasses import replace

import pytest

from gqlib.bench import engine as bench

SMALL = replace(bench.BASE, episodes=1, max_steps=60, p=512)


@pytest.mark.parametrize("maker", [bench.learning, bench.dense, bench.reference])
def test_work_counts_its_steps(maker):
    assert maker(SMALL)() == 60


def test_bare_loop_counts_three_times_the_episodes():
    assert bench.bare(SMALL)() == 180


def test_best_is_the_least_time_per_step():
    ticks = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0])
    assert bench.best(lambda: 2, 3, lambda: next(ticks)) == pytest.approx(1e9)


def test_flush_rule_shows_errors_that_grow_as_the_threshold_falls(monkeypatch):
    monkeypatch.setattr(bench, "BASE", replace(bench.BASE, max_steps=1500, episodes=1))
    coarse, fine = bench.flush_rule((1e-12, 1e-1))
    assert coarse["relative error"] > 1000 * fine["relative error"]


def fake(learning):
    ratios = {name: bound or 1.0 for name, (_, bound, _) in bench.TARGETS.items()} | {"learning / bare": learning}
    flush = [{"threshold": 1e-3, "nanoseconds": 50.0, "relative error": 1e-13}]
    return {"engine_version": 1, "times": {"bare loop": 32.0}, "ratios": ratios, "flush": flush, bench.OPENING: 0.5}


def test_table_says_which_targets_are_met():
    assert "NO" not in bench.as_text(fake(1.9))
    (line,) = [line for line in bench.as_text(fake(2.1)).splitlines() if "NO" in line]
    assert "bare loop without learning" in line
    assert "at most 2: NO" in line


def test_main_prints_table_and_json(monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", lambda repeats: fake(1.5 + repeats))
    bench.main(["--repeats", "2"])
    text = capsys.readouterr().out
    assert text.startswith("nanoseconds per step")
    assert json.loads(text[text.index("{") :])["ratios"]["learning / bare"] == 3.5
    bench.main(["--json"])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(fake(8.5)))


def test_two_workers_are_compared_on_the_same_tasks(monkeypatch):
    monkeypatch.setattr(bench, "BASE", SMALL)
    assert bench.two_workers(1, tasks=2, runs=1) > 0
