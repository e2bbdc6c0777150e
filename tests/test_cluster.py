"""What a Dask cluster does to a sweep, with a client that plays the cluster: lost results, dead or missing workers."""

import logging
from concurrent.futures import CancelledError

import pytest

from gqlib.sweeps import workers
from gqlib.sweeps.names import SweepError
from gqlib.sweeps.workers import Failure

scheduler = pytest.importorskip("distributed.scheduler")
DIED = Failure("its worker process died (killed, or out of memory)", "")


class Future:
    """Plays what it is told: states as they are asked for, and what asking for the result brings."""

    def __init__(self, states, results):
        self.states, self.results, self.waited = list(states), list(results), []

    @property
    def status(self):
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def result(self, timeout):
        self.waited.append(timeout)
        found = self.results.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


class Client:
    """A cluster whose futures are written down, one list for each task."""

    class scheduler:
        address = "tcp://nowhere"

    def __init__(self, futures, threads=None):
        self.futures, self.threads, self.submitted = futures, threads or [{"one": 1}], []

    def submit(self, function, index, task, parent, *, pure):
        assert function is workers._outcome_elsewhere
        assert parent is None
        assert not pure
        self.submitted.append(index)
        return self.futures[index].pop(0)

    def nthreads(self):
        return self.threads.pop(0) if len(self.threads) > 1 else self.threads[0]


def arrays(index):
    return Future(["pending", "finished"], [(index, {"x": index})])


def killed():
    return Future(["error"], [scheduler.KilledWorker("task", None, 3)])


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(workers, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(workers, "_ASK_EVERY", 0.0)


def compute(monkeypatch, futures, dask="tcp://nowhere", **options):
    client = Client(futures, **options)

    class Opened:
        def __enter__(self):
            return client

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(workers, "_client", lambda *_: Opened())
    return client, workers.computed([f"task {index}" for index in range(len(futures))], 2, dask)


def test_a_client_is_opened_for_the_cluster_that_is_asked_for(monkeypatch):
    asked = []
    compute(monkeypatch, [])
    opened = workers._client
    monkeypatch.setattr(workers, "_client", lambda *arguments: asked.append(arguments) or opened())
    assert list(workers._by_cluster([], 2, "tcp://nowhere")) == []
    assert asked == [(2, "tcp://nowhere")]


def test_results_come_as_they_are_ready(monkeypatch):
    late = Future(["pending"] * 5 + ["finished"], [(0, {"x": 0})])
    client, outcomes = compute(monkeypatch, [[late], [arrays(1)], [arrays(2)]])
    assert list(outcomes) == [(1, {"x": 1}), (2, {"x": 2}), (0, {"x": 0})]
    assert client.submitted == [0, 1, 2]


def test_a_bystander_of_a_deadly_task_is_tried_again_alone(monkeypatch):
    # Both were at workers that died four times; only the first ends them when it is alone.
    nothing = Future(["finished"], [(3, {})])  # which is refused elsewhere, by its own name
    lists = [[killed(), killed()], [killed(), arrays(1)], [arrays(2)], [killed(), nothing]]
    client, outcomes = compute(monkeypatch, lists)
    assert dict(outcomes) == {0: DIED, 1: {"x": 1}, 2: {"x": 2}, 3: {}}
    assert client.submitted == [0, 1, 2, 3, 0, 1, 3]


def test_a_result_lost_on_its_way_is_asked_for_again_with_more_patience(monkeypatch):
    lost = Future(["finished"], [TimeoutError(), TimeoutError(), (0, {"x": 0})])
    _, outcomes = compute(monkeypatch, [[lost], [arrays(1)]])
    assert dict(outcomes) == {0: {"x": 0}, 1: {"x": 1}}
    assert lost.waited == [10.0, 20.0, 30.0]


def test_patience_has_an_end(monkeypatch):
    lost = Future(["finished"], [TimeoutError()] * 8 + [(0, {"x": 0})])
    assert list(compute(monkeypatch, [[lost]])[1]) == [(0, {"x": 0})]
    assert lost.waited == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 60.0, 60.0, 60.0]


def test_a_lost_future_is_waited_for(monkeypatch):
    lost = Future(["finished", "lost", "lost", "finished"], [TimeoutError(), (0, {"x": 0})])
    assert list(compute(monkeypatch, [[lost]])[1]) == [(0, {"x": 0})]


def test_a_cluster_gets_so_many_tasks_at_a_time(monkeypatch):
    monkeypatch.setattr(workers, "_AT_CLUSTER", 2)
    client, outcomes = compute(monkeypatch, [[arrays(index)] for index in range(5)])
    first = next(outcomes)
    assert client.submitted == [0, 1]
    assert dict([first, *outcomes]) == {index: {"x": index} for index in range(5)}
    assert client.submitted == [0, 1, 2, 3, 4]


def test_a_cluster_that_goes_away_is_one_clear_error(monkeypatch):
    _, outcomes = compute(monkeypatch, [[Future(["cancelled"], [CancelledError()])]])
    with pytest.raises(SweepError, match=r"the Dask cluster at tcp://nowhere is gone"):
        list(outcomes)


def test_a_cluster_without_workers_is_waited_for_with_one_word(monkeypatch, caplog):
    monkeypatch.setattr(workers, "_GONE", -1.0)  # of a cluster of one's own only
    patient = Future(["pending"] * 9 + ["finished"], [(0, {"x": 0})])
    with caplog.at_level(logging.WARNING):
        _, outcomes = compute(
            monkeypatch, [[patient]], threads=[{}, {}, {}, {"one": 1}, {}, {"one": 1}]
        )
        assert list(outcomes) == [(0, {"x": 0})]
    assert [record.getMessage() for record in caplog.records] == [
        "the Dask cluster at tcp://nowhere has no worker; waiting for one"
    ] * 2


def test_a_local_cluster_that_lost_its_workers_for_good_is_given_up(monkeypatch):
    monkeypatch.setattr(workers, "_GONE", -1.0)
    forever = Future(["pending"], [])
    _, outcomes = compute(
        monkeypatch, [[arrays(0)], [forever]], dask="local", threads=[{"one": 1}] * 3 + [{}]
    )
    assert next(outcomes) == (0, {"x": 0})
    with pytest.raises(
        SweepError, match=r"the local Dask cluster has had no worker for -1 seconds"
    ):
        list(outcomes)
