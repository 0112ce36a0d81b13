"""The bundled tables match their catalogue, and the synthetic one its true graph."""

from __future__ import annotations

import gzip
import json
import runpy
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph
from loopylatent.tables import samples
from loopylatent.tables.observations import read_table
from loopylatent.tables.samples import (
    Sample,
    load_sample,
    load_word_pmi,
    sample_folder,
    sample_names,
)

# rows, columns, missing values, kind, label columns
EXPECTED: dict[str, tuple[int, int, int, str, tuple[str, ...]]] = {
    "newsgroups100_roweislike": (15348, 100, 0, "binary", ("newsgroup", "category", "split")),
    "bfi25": (2800, 25, 508, "ordinal", ()),
    "holzinger24": (301, 24, 0, "continuous", ()),
    "ability16": (1525, 16, 1143, "binary", ()),
    "mammals47_dna": (3179, 47, 0, "categorical", ()),
    "stocks20_monthly_1990_2007": (215, 21, 0, "continuous", ("month",)),
    "stocks_sp100_daily_2003_2007": (1257, 78, 0, "continuous", ()),
    "housevotes84": (435, 16, 392, "binary", ("party",)),
    "irish_wind12": (6574, 12, 0, "continuous", ()),
    "digits_pixels": (1797, 46, 0, "binary", ("digit",)),
    "latent_cycle": (5000, 20, 0, "binary", ()),
}


@pytest.fixture(scope="module", params=list(EXPECTED))
def sample(request: pytest.FixtureRequest) -> Sample:
    return load_sample(request.param)


def test_the_catalogue_lists_every_sample() -> None:
    assert sample_names() == tuple(EXPECTED)


def test_a_sample_has_the_documented_shape_and_kinds(sample: Sample) -> None:
    obs = sample.observations
    kinds = set(obs.kinds)
    assert len(kinds) == 1
    found = (obs.n_rows, obs.n_columns, obs.n_missing, kinds.pop(), tuple(obs.labels.columns))
    assert found == EXPECTED[sample.name]
    assert sample.labels == tuple(obs.labels.columns)
    entry = json.loads((sample_folder() / "samples.json").read_text(encoding="utf-8"))[sample.name]
    assert found[:4] == (entry["rows"], entry["columns"], entry["missing"], entry["kind"])


def test_a_sample_read_as_an_unknown_file_gets_the_same_columns(sample: Sample) -> None:
    obs = read_table(sample_folder() / f"{sample.name}.csv.gz", labels=sample.labels)
    assert obs.columns == sample.observations.columns
    assert obs.digest == sample.observations.digest


def test_groups_name_every_column_of_a_sample(sample: Sample) -> None:
    if sample.groups is not None:
        assert set(sample.groups) == set(sample.observations.names)
        assert len(set(sample.groups.values())) > 1


def test_a_sample_has_a_title_and_tells_what_to_look_at(sample: Sample) -> None:
    assert 10 < len(sample.title) < 60
    assert 80 < len(sample.about) < 400
    assert (sample.truth is not None) == (sample.name == "latent_cycle")


def test_states_are_the_documented_ones() -> None:
    assert {c.states for c in load_sample("housevotes84").observations.columns} == {("n", "y")}
    bases = ("A", "C", "G", "T")
    assert {c.states for c in load_sample("mammals47_dna").observations.columns} == {bases}


def test_every_sample_is_described_with_its_terms() -> None:
    readme = (sample_folder() / "README.md").read_text(encoding="utf-8")
    licences = (sample_folder() / "LICENSES.md").read_text(encoding="utf-8")
    for path in sample_folder().glob("*.csv.gz"):
        assert f"`{path.name.removesuffix('.csv.gz')}" in readme
        assert f"`{path.name}`" in licences


def test_packed_files_carry_no_time_and_no_name() -> None:
    paths = sorted(sample_folder().glob("*.csv.gz"))
    assert len(paths) == len(EXPECTED) + 1
    for path in paths:
        header = path.read_bytes()[:10]
        assert header[3] == 0, path.name
        assert header[4:8] == bytes(4), path.name


def test_an_unknown_sample_is_rejected_with_close_names() -> None:
    with pytest.raises(DataError, match=r"no sample 'bfi'.*'bfi25'"):
        load_sample("bfi")


def test_a_missing_folder_is_rejected_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sample_names.cache_clear()
    monkeypatch.setattr(
        samples, "__file__", str(tmp_path / "loopylatent" / "tables" / "samples.py")
    )
    for function in (sample_names, load_word_pmi, lambda: load_sample("bfi25")):
        with pytest.raises(DataError, match="The bundled tables are missing"):
            function()


def test_word_pmi_is_symmetric_over_the_newsgroup_words() -> None:
    pmi = load_word_pmi()
    assert tuple(pmi.index) == tuple(pmi.columns)
    assert tuple(pmi.index) == load_sample("newsgroups100_roweislike").observations.names
    np.testing.assert_array_equal(pmi.to_numpy(), pmi.to_numpy().T)
    assert int(pmi.notna().any().sum()) == 70


def ring_correlations(truth: LatentGraph) -> np.ndarray:
    """Exact correlations of the leaves: (a + b) / (1 + ab) on the ring, times the two legs."""
    p, girth = truth.n_observed, truth.n_hidden
    strength = {
        (u, v): float(np.exp(-length))
        for (u, v), length in zip(truth.edges.tolist(), truth.lengths, strict=True)
    }
    ring = [strength[min(u, v), max(u, v)] for u, v in _ring_edges(p, girth)]
    exact = np.eye(p)
    for i, j in combinations(range(p), 2):
        node_i, node_j = truth.neighbours(i)[0], truth.neighbours(j)[0]
        start, stop = sorted((node_i - p, node_j - p))
        a, b = np.prod(ring[start:stop]), np.prod(ring[:start] + ring[stop:])
        on_ring = 1.0 if start == stop else (a + b) / (1 + a * b)
        exact[i, j] = exact[j, i] = strength[i, node_i] * strength[j, node_j] * on_ring
    return exact


def _ring_edges(p: int, girth: int) -> list[tuple[int, int]]:
    return [(p + k, p + (k + 1) % girth) for k in range(girth)]


def test_the_truth_of_the_latent_cycle_is_a_ring_with_leaves() -> None:
    truth = load_sample("latent_cycle").truth
    assert truth is not None
    assert (truth.n_observed, truth.n_hidden, truth.girth, truth.n_cycles) == (20, 10, 10, 1)
    assert set(truth.degrees[:20]) == {1}
    assert set(truth.degrees[20:]) == {4}
    assert (np.exp(-truth.lengths) >= 0.599).all()
    assert (np.exp(-truth.lengths) <= 0.851).all()


def test_the_latent_cycle_is_what_its_script_writes(tmp_path: Path) -> None:
    runpy.run_path(str(sample_folder() / "make_latent_cycle.py"))["main"](tmp_path)
    for written in sorted(tmp_path.iterdir()):
        kept = (sample_folder() / written.name).read_bytes()
        unpack = gzip.decompress if written.suffix == ".gz" else bytes
        assert unpack(written.read_bytes()) == unpack(kept)


def test_the_rows_of_the_latent_cycle_follow_its_truth() -> None:
    sample = load_sample("latent_cycle")
    assert sample.truth is not None
    upper = np.triu_indices(20, 1)
    exact = ring_correlations(sample.truth)[upper]
    n = sample.observations.n_rows
    found = np.corrcoef(sample.observations.values, rowvar=False)[upper]
    # the standard error of a correlation of two fair coins is sqrt((1 - rho^2) / n)
    z = (found - exact) / np.sqrt((1 - exact**2) / n)
    assert np.abs(z).max() < 4
    assert np.sqrt(np.mean(z**2)) < 1.5
    shares = sample.observations.values.mean(axis=0)
    assert np.abs(shares - 0.5).max() < 4 * 0.5 / np.sqrt(n)
