"""The same results from a cluster of processes as from one machine, also when a worker is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import loopylatent as ll
from loopylatent.compute import workers as work
from loopylatent.compute.workers import ClusterError, runner
from loopylatent.errors import DataError, ThresholdError
from loopylatent.synthetic.families import latent_cycle

NAMES = list("abcdefgh")


@pytest.fixture(scope="module")
def workers():
    with LocalCluster(
        processes=True,
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as found:
        yield found


@pytest.fixture(scope="module")
def on_cluster(workers):
    return {"engine": "dask", "scheduler": workers.scheduler_address}


@pytest.fixture(scope="module")
def rows():
    return latent_cycle(girth=6, leaves=2, seed=1).sample(1000, seed=1)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Part files of real numbers with gaps, and of yes and no."""
    rng = np.random.default_rng(0)
    real = pd.DataFrame(np.cumsum(rng.normal(size=(12_000, 8)), axis=1), columns=NAMES)
    found = {}
    for sort, frame in {"real": real.mask(rng.random(real.shape) < 0.1), "yes": real > 0}.items():
        folder = tmp_path_factory.mktemp(sort)
        for k, own in enumerate(np.array_split(np.arange(len(frame)), 4)):
            frame.iloc[own].to_parquet(folder / f"{k}.parquet", row_group_size=700)
        found[sort] = folder
    return found


def slow_square(base, k, check):
    """Work that goes on until it is done or not wanted any more."""
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        check(0, 0)
        time.sleep(0.01)
    return base + k * k


def endless(_shared, path, check):
    """Work that ends only when nobody wants it any more, and then says so."""
    try:
        while True:
            check(0, 0)
            time.sleep(0.01)
    finally:
        Path(path).touch()


def reject(_shared, k, _check):
    raise DataError(f"task {k} is wrong; fix it.")


def end_process(path, k, _check):
    """End the worker the first time that it is run, on whichever worker."""
    try:
        os.close(os.open(f"{path}{k}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return k
    os.kill(os.getpid(), signal.SIGKILL)
    return -1


@pytest.mark.parametrize("sort", ["real", "yes"])
def test_distances_of_part_files_are_the_same_bit_for_bit(parts, on_cluster, sort):
    here = ll.scan_table(parts[sort], block_rows=150)
    there = ll.scan_table(parts[sort], block_rows=150, **on_cluster)
    assert len(there.portions) > 5
    assert (there.columns, there.digest) == (here.columns, here.digest)
    expected = ll.information_distances(here)
    found = ll.information_distances(there, **on_cluster)
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.noise_floor == expected.noise_floor


@pytest.mark.long
def test_the_sampled_rows_of_the_noise_floor_are_the_same(parts, on_cluster, monkeypatch):
    monkeypatch.setattr("loopylatent.distances.strengths.FEWEST_NULL_ROWS", 400)
    monkeypatch.setattr("loopylatent.distances.strengths.block_rows", lambda _: 400)
    monkeypatch.setattr("loopylatent.distances.strengths.NULL_PAIRS", 100)
    table = ll.scan_table(parts["yes"], block_rows=150)
    expected = ll.information_distances(table, "canonical")
    found = ll.information_distances(table, "canonical", **on_cluster)
    assert found.noise_floor == expected.noise_floor


def test_support_is_the_same(rows, on_cluster):
    expected = ll.stability(rows, n_resamples=6)
    found = ll.stability(rows, n_resamples=6, **on_cluster)
    for part in ("edges", "hidden", "cycles", "initial_edges"):
        assert np.array_equal(getattr(found, part), getattr(expected, part))
    assert found.instability == expected.instability
    assert found.consensus() == expected.consensus()


@pytest.mark.parametrize("scheme", ["blocks", "subsample", "noise", "orders"])
@pytest.mark.long
def test_every_scheme_can_travel(rows, on_cluster, scheme):
    expected = ll.stability(rows, n_resamples=2, scheme=scheme)
    found = ll.stability(rows, n_resamples=2, scheme=scheme, **on_cluster)
    assert np.array_equal(found.edges, expected.edges)


@pytest.mark.long
def test_groups_are_the_same(rows, on_cluster):
    expected = ll.groups(rows, n_resamples=4)
    found = ll.groups(rows, n_resamples=4, **on_cluster)
    assert np.array_equal(found.together, expected.together)


@pytest.mark.long
def test_a_sweep_is_the_same_and_its_arrays_are_read_only(rows, on_cluster):
    D = ll.information_distances(rows)
    radii = [D.r_min, (D.r_min + D.r_max) / 2, D.r_max]
    expected = ll.sweep(D, radii, obs=rows)
    found = ll.sweep(D, radii, obs=rows, **on_cluster)
    columns = expected.to_frame().columns.drop("seconds")
    pd.testing.assert_frame_equal(found.to_frame()[columns], expected.to_frame()[columns])
    assert [one.graph for one in found.points] == [one.graph for one in expected.points]
    assert not found.points[0].graph.lengths.flags.writeable


@pytest.mark.long
def test_the_loss_of_a_worker_changes_nothing(rows, workers, on_cluster):
    expected = ll.stability(rows, n_resamples=12)
    lost = []

    def lose_one(done, total):
        if done >= 1 and not lost:
            assert done < total
            lost.append(next(iter(workers.workers.values())).pid)
            os.kill(lost[0], signal.SIGKILL)

    found = ll.stability(rows, n_resamples=12, progress=lose_one, **on_cluster)
    assert lost
    assert np.array_equal(found.edges, expected.edges)
    assert found.n_used == expected.n_used


@pytest.mark.long
def test_distances_survive_the_loss_of_a_worker(parts, workers, on_cluster):
    table = ll.scan_table(parts["real"], block_rows=40)
    expected = ll.information_distances(table)
    lost = []

    def lose_one(done, total):
        if done >= 1 and not lost:
            assert done < total
            lost.append(next(reversed(workers.workers.values())).pid)
            os.kill(lost[0], signal.SIGKILL)

    found = ll.information_distances(table, progress=lose_one, **on_cluster)
    assert lost
    assert found.values.tobytes() == expected.values.tobytes()


@pytest.mark.long
def test_shared_data_is_sent_again_when_it_is_lost(on_cluster, tmp_path):
    tasks = [0, 1]  # each ends a worker once; both together may take all copies with them
    with runner(**on_cluster) as run:
        found = dict(run(end_process, str(tmp_path / "task "), tasks))
    assert found == {0: 0, 1: 1}


@pytest.mark.long
def test_results_come_as_they_finish_and_once(on_cluster):
    seen = []
    with runner(**on_cluster) as run:
        found = dict(run(slow_square, 10, range(4), lambda *now: seen.append(now)))
    assert found == {0: 10, 1: 11, 2: 14, 3: 19}
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == ((0, 4), (4, 4))


@pytest.mark.long
def test_large_things_travel_once(on_cluster):
    shared = np.zeros(1_000_000)
    with runner(**on_cluster) as run:
        before = traffic(run.client)
        assert len(list(run(add_up, shared, range(20)))) == 20
        assert traffic(run.client) - before < 6 * shared.nbytes


def add_up(shared, k, _check):
    return float(shared.sum()) + k


def traffic(client):
    """Bytes that all workers have received from others and from the client."""
    counts = client.run(lambda: __import__("psutil").net_io_counters().bytes_recv)
    return max(counts.values())


@pytest.mark.long
def test_progress_that_raises_stops_the_tasks(on_cluster, tmp_path):
    path = tmp_path / "ended"

    def stop(_done, _total):
        if running(on_cluster["scheduler"]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), runner(**on_cluster) as run:
        list(run(endless, None, [str(path)], stop))
    end = time.monotonic() + 30
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert path.exists()


def running(address):
    with Client(address, set_as_default=False) as client:
        return any(client.processing().values())


def test_errors_of_a_task_arrive_as_they_are(on_cluster):
    with (
        pytest.raises(DataError, match=r"^task 7 is wrong; fix it\.$"),
        runner(**on_cluster) as run,
    ):
        list(run(reject, None, [7]))


@pytest.mark.long
def test_an_own_cluster_is_started_and_ended(rows, monkeypatch):
    started = []

    class Watched(LocalCluster):
        def __init__(self, **options):
            super().__init__(n_workers=1, **options)
            started.append(self)

    monkeypatch.setattr("distributed.LocalCluster", Watched)
    found = ll.stability(rows, n_resamples=2, engine="dask")
    assert found.n_used == 2
    assert [one.status.name for one in started] == ["closed"]


def test_engines_and_addresses_that_cannot_be_used_are_rejected(rows, monkeypatch):
    monkeypatch.setattr(work, "CONNECT_TIMEOUT", 1)
    with pytest.raises(ThresholdError, match="Choose one of threads, dask"):
        ll.stability(rows, engine="ray")
    with pytest.raises(ThresholdError, match="engine='dask'"):
        ll.groups(rows, scheduler="tcp://127.0.0.1:1")
    for address in ("tcp://127.0.0.1:1", "nonsense://"):
        with pytest.raises(ClusterError, match="No Dask scheduler answers") as caught:
            ll.stability(rows, engine="dask", scheduler=address)
        assert "\n" not in str(caught.value)


class Workerless:
    """A client of a cluster that has no workers, or loses them at once."""

    def __init__(self, there=False):
        self.there = there

    def wait_for_workers(self, *_, **__):
        if not self.there:
            raise TimeoutError

    def nthreads(self):
        return {"a": 1}

    def scatter(self, *_, **__):
        raise TimeoutError("no valid workers found")


def test_waiting_for_workers_can_be_stopped_and_ends_in_one_line(monkeypatch):
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(work.OnCluster(Workerless())(reject, None, [1, 2], stop))
    assert seen == [(0, 2)] * 3
    monkeypatch.setattr(work, "WORKER_TIMEOUT", 0)
    with pytest.raises(ClusterError, match="no worker for 0 seconds"):
        list(work.OnCluster(Workerless())(reject, None, [1]))
    with pytest.raises(ClusterError, match="could not be sent to the workers"):
        list(work.OnCluster(Workerless(there=True))(reject, None, [1]))
    assert list(work.OnCluster(Workerless())(reject, None, [])) == []


def test_without_dask_one_line_says_what_to_install():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "import loopylatent as ll\n"
        "try:\n"
        "    ll.groups(ll.load_sample('bfi25').observations, engine='dask')\n"
        "except ll.LoopyLatentError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'loopylatent[cluster]'" in found.stdout
    assert found.stdout.count("\n") == 1
