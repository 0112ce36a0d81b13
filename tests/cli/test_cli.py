from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import loopylatent as ll
from loopylatent.cli.main import _parser, main


@pytest.fixture
def answers(tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(300, 1))
    frame = pd.DataFrame(hidden + rng.normal(size=(300, 5)), columns=list("abcde"))
    frame["id"] = [f"person {k}" for k in range(300)]
    path = tmp_path / "answers.csv"
    frame.to_csv(path, index=False)
    return path


def test_learn_writes_the_graph_that_the_package_learns(answers, tmp_path, capsys):
    target = tmp_path / "graph.graphml"
    command = ["learn", str(answers), "--drop", "id", "--r", "2", "--Lambda", "0.02"]
    assert main([*command, "--tau", "0.1", "-o", str(target)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "5 observed" in shown.err
    assert f"wrote {target}" in shown.err
    D = ll.information_distances(ll.read_table(answers, drop=["id"]))
    graph = ll.learn(D, r=2, Lambda=0.02, tau=0.1).graph
    read = nx.read_graphml(target, node_type=int)
    assert {tuple(sorted(edge)): read.edges[edge]["distance"] for edge in read.edges} == dict(
        zip(map(tuple, graph.edges.tolist()), graph.lengths.tolist(), strict=True)
    )


def test_learn_without_thresholds_or_file_prints_the_default_graph(answers, capsys):
    assert main(["learn", str(answers), "--label", "id"]) == 0
    out = capsys.readouterr().out
    D = ll.information_distances(ll.read_table(answers, labels=["id"]))
    rows = [line for line in out.splitlines() if line and not line.startswith("#")]
    assert len(rows) - 1 == ll.learn(D).graph.n_edges


def test_estimator_command_line_and_call_give_the_same_graph(answers, tmp_path):
    target = tmp_path / "graph.json"
    assert main(["learn", str(answers), "--drop", "id", "-o", str(target)]) == 0
    frame = pd.read_csv(answers).drop(columns="id")
    fitted = ll.LocalCLGrouping().fit(frame).graph_
    assert fitted == ll.learn(ll.information_distances(frame)).graph
    assert fitted.digest in target.read_text()


def test_distances_round_trip_into_learn(answers, tmp_path, capsys):
    matrix, first, second = (tmp_path / name for name in ("d.csv", "a.csv", "b.csv"))
    assert main(["distances", str(answers), "--drop", "id", "-o", str(matrix)]) == 0
    thresholds = ["--r", "2", "--Lambda", "0.02", "--tau", "0.1"]
    assert main(["learn", str(answers), "--drop", "id", *thresholds, "-o", str(first)]) == 0
    assert main(["learn", str(matrix), "--from-distances", *thresholds, "-o", str(second)]) == 0
    wanted = ["source", "target", "distance"]
    edges = [pd.read_csv(path, comment="#")[wanted] for path in (first, second)]
    pd.testing.assert_frame_equal(*edges)
    assert "noise floor" in capsys.readouterr().err


def test_columns_named_like_formulas_are_harmless_and_come_back(tmp_path):
    rng = np.random.default_rng(0)
    names = ["=cmd()", "+1", "@x", "plain", "it's"]
    frame = pd.DataFrame(rng.normal(size=(50, 1)) + rng.normal(size=(50, 5)), columns=names)
    table, matrix, graph = (tmp_path / name for name in ("t.csv", "d.csv", "g.json"))
    frame.to_csv(table, index=False)
    assert main(["distances", str(table), "-o", str(matrix)]) == 0
    assert not any(
        cell.startswith(("=", "+", "@"))
        for line in matrix.read_text().splitlines()
        for cell in line.split(",")
    )
    assert main(["learn", str(matrix), "--from-distances", "-o", str(graph)]) == 0
    assert '"=cmd()"' in graph.read_text()


def test_kinds_can_be_corrected_on_the_command_line(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(1, 5, size=(200, 4)), columns=list("abcd"))
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    command = ["distances", str(path)]
    for column in "abcd":
        command += ["--kind", f"{column}=categorical"]
    assert main(command) == 0
    assert "by determinant" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "nowhere.csv"], "nowhere.csv"),
        (["learn", "sample:nothing"], "nothing"),
        (["learn", "sample:bfi25", "--r", "0.001"], "below the smallest distance"),
        (["learn", "sample:bfi25", "--Lambda", "1"], "outside [0, 1)"),
        (["learn", "sample:bfi25", "--tau", "-1"], "negative"),
        (["learn", "sample:bfi25", "-o", "graph.xyz"], ".graphml"),
        (["learn", "sample:bfi25", "-o", "no/such/folder/graph.json"], "folder"),
        (["learn", "sample:bfi25", "--drop", "A1"], "do not apply to bundled samples"),
        (["learn", "sample:bfi25", "--metric", "determinant"], "same states"),
        (["distances", "x.csv", "--kind", "a=odd"], "COLUMN=KIND"),
        (["score", "sample:bfi25", "--seed", "-1"], "at least 0"),
        (["learn", "nowhere.csv", "-o", "graph.xyz"], ".graphml"),
        (["learn", "nowhere.csv", "--report", "no/such/folder/r.html"], "folder"),
        *(
            ([command, "nowhere.csv", "-o", "no/such/folder/a.csv"], "folder")
            for command in ("learn", "distances", "score", "sweep", "stability", "report")
        ),
        (["theory", "-o", "no/such/folder/a.csv"], "folder"),
        (["synthetic", "-o", "no/such/folder/a.csv"], "folder"),
        (["synthetic", "--truth", "no/such/folder/a.json"], "folder"),
        (["synthetic", "-n", "1000000000"], "use at most 10,000,000 rows"),
        (["stability", "nowhere.csv", "--consensus", "a.pdf"], ".graphml"),
        (["report", "nowhere.csv", "-o", "r.html", "--names", "gone.loopylatent"], "gone"),
        *(
            ([*command.split(), "-o", "a.xlsx"], "must have the extension .csv")
            for command in (
                "distances t.csv",
                "score t.csv",
                "sweep t.csv",
                "stability t.csv",
                "synthetic",
                "theory",
            )
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_status_2(arguments, message, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    last = shown.err.strip().splitlines()[-1]
    assert last.startswith("loopylatent: ")
    assert message in last
    assert shown.out == ""


def test_an_unknown_option_has_status_2_and_help_has_status_0(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["learn", "sample:bfi25", "--speed", "9"])
    assert caught.value.code == 2
    for command in ([], ["learn"], ["distances"], ["samples"]):
        with pytest.raises(SystemExit) as caught:
            main([*command, "--help"])
        assert caught.value.code == 0
    assert "Example: loopylatent" in capsys.readouterr().out


def test_the_bundled_tables_are_listed(capsys):
    assert main(["samples"]) == 0
    assert "sample:bfi25\t" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_names_in_every_script_are_written_whatever_the_encoding_of_the_output(
    answers, tmp_path, encoding
):
    table = tmp_path / "t.csv"
    table.write_text(answers.read_text().replace("a,b", "α😀,β", 1), encoding="utf-8")
    command = [sys.executable, "-m", "loopylatent", "distances", str(table)]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    rejected = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert rejected.returncode == 2
    assert b"Traceback" not in rejected.stderr
    run = subprocess.run(
        [*command, "--drop", "id"], capture_output=True, env=environment, check=True
    )
    assert run.stdout.decode("utf-8").startswith("column,α😀,β,c")
    D = ll.read_distances(run.stdout)
    assert D.names[:2] == ("α😀", "β")


def test_the_module_runs_as_a_program():
    command = [sys.executable, "-m", "loopylatent", "learn", "sample:holzinger24"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "24 observed" in done.stderr
    assert len(done.stdout.splitlines()) > 24


def measures(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if "," in line]
    assert lines[0] == "measure,value"
    return dict(line.split(",") for line in lines[1:])


def test_score_splits_the_table_by_seed(answers, capsys):
    command = ["score", str(answers), "--drop", "id", "--test-share", "0.4", "--seed", "3"]
    assert main(command) == 0
    shown = capsys.readouterr()
    found = measures(shown.out)
    assert float(found["n_samples"]) == 120
    assert found["method"] == "exact"
    assert "gaussian model" in shown.err
    obs = ll.read_table(answers, drop=["id"])
    order = np.random.default_rng(3).permutation(300)
    train, test = obs.take(np.sort(order[120:])), obs.take(np.sort(order[:120]))
    model = ll.fit_parameters(ll.learn(ll.information_distances(train), seed=3).graph, train)
    assert float(found["perp_ll"]) == model.scores(test, seed=3).perp_ll


def test_score_takes_another_table_even_of_one_row(answers, tmp_path, capsys):
    other, target = tmp_path / "later.csv", tmp_path / "scores.csv"
    pd.read_csv(answers).head(1).to_csv(other, index=False)
    command = ["score", str(answers), "--drop", "id", "--test", str(other), "-o", str(target)]
    assert main(command) == 0
    assert capsys.readouterr().out == ""
    assert float(measures(target.read_text())["n_samples"]) == 1


def test_learn_and_score_with_a_penalty(answers, capsys):
    options = [str(answers), "--drop", "id", "--regularize", "bic", "--max-hidden", "1"]
    assert main(["learn", *options]) == 0
    shown = capsys.readouterr()
    assert "1 hidden" in shown.err or "0 hidden" in shown.err
    assert main(["score", *options]) == 0
    assert float(measures(capsys.readouterr().out)["perp_ll"]) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test-share", "1.5"], "must be between 0 and 1"),
        (["--test-share", "0.001"], "leaves no test rows"),
        (["--test", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_score_says_what_is_wrong(answers, capsys, options, message):
    assert main(["score", str(answers), "--drop", "id", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_penalty_needs_the_rows(tmp_path, capsys):
    matrix = tmp_path / "d.csv"
    pd.DataFrame([[0, 1, 2.0], [1, 0, 1.5], [2, 1.5, 0]], columns=list("abc")).to_csv(
        matrix, index=False
    )
    assert main(["learn", str(matrix), "--from-distances", "--regularize", "bic"]) == 2
    assert "needs the rows" in capsys.readouterr().err


def test_the_remedy_for_constant_columns_is_an_option_and_works(tmp_path, capsys):
    table = tmp_path / "t.csv"
    rows = "".join(f"{k % 2},{k % 4 // 2 or k % 2},{k % 5 // 3 or k % 2},7\n" for k in range(60))
    table.write_text("a,b,c,same\n" + rows)
    assert main(["learn", str(table)]) == 2
    assert "use --drop-degenerate" in capsys.readouterr().err
    assert main(["learn", str(table), "--drop-degenerate"]) == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("learn t.csv --lambda 0.1", "Unknown option --lambda; did you mean --Lambda?"),
        ("learn t.csv --radius 3", "did you mean --r?"),
        ("learn t.csv --r abc", "--r 'abc' is not a number"),
        ("learn t.csv --seed 1.5", "--seed '1.5' is not a whole number"),
        ("learn t.csv --method nyx", "Choose one of "),
        ("learn t.csv --r", "--r needs a value"),
        ("learn", "TABLE is missing"),
        ("learn my table.csv", "Unexpected argument 'table.csv'"),
        ("report t.csv", "--output is missing"),
        ("lern t.csv", "Choose one of "),
    ],
)
def test_what_cannot_be_parsed_is_said_in_one_line_that_names_the_help(command, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(command.split())
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    name = "loopylatent" if command.startswith("lern") else f"loopylatent {command.split()[0]}"
    assert line.startswith(f"{name}: ")
    assert line.endswith(f"See {name} --help.")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("learn t.csv --format html", "--format needs -o"),
        ("learn t.csv --max-hidden 3", "--max-hidden needs --regularize"),
        ("learn t.csv --n-samples 10", "--n-samples needs --from-distances"),
        ("learn t.csv --title x", "--title needs --report"),
        ("learn t.csv --resamples 7", "--resamples needs --report"),
        ("learn t.csv --from-distances --drop a", "--drop has no effect"),
        ("score t.csv --test u.csv --test-share 0.2", "--test-share has no effect"),
        ("stability t.csv --share 0.3", "--share needs --scheme subsample"),
        ("stability t.csv --scheme noise --block 4", "--block needs --scheme blocks"),
        ("synthetic --r 3", "--r needs --learn"),
    ],
)
def test_an_option_without_effect_is_rejected(command, message, capsys):
    assert main(command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--drop ID", "--drop: there is no column 'ID'"),
        ("--label nobody", "--label: there is no column 'nobody'"),
        ("--drop id --kind nobody=ordinal", "--kind: there is no column 'nobody'"),
        ("--drop id --weights nobody", "--weights: there is no column 'nobody'"),
        ("--drop id --r -1", "at least the smallest distance."),
        ("--drop id --regularize bic --max-hidden -3", "omit it for no limit"),
    ],
)
def test_the_command_line_advises_options_and_no_keywords(answers, options, message, capsys):
    assert main(["learn", str(answers), *options.split()]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_what_only_distances_lack_is_asked_for_by_the_names_of_options(answers, tmp_path, capsys):
    text, packed = tmp_path / "d.csv", tmp_path / "d.npz"
    for matrix in (text, packed):
        assert main(["distances", str(answers), "--drop", "id", "-o", str(matrix)]) == 0
    capsys.readouterr()
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2\n2,1\n3,3\n")
    given = [str(text), "--from-distances"]
    for command, message in (
        (["learn", *given, "--regularize", "bic"], "use the table instead of its distances"),
        (["stability", *given], "add --n-samples"),
        (["stability", *given, "--scheme", "bootstrap"], "use --scheme noise"),
        (["stability", *given, "--n-samples", "300", "--resamples", "0"], "--resamples 0 is"),
        (["learn", str(packed)], "add --from-distances"),
        (["learn", str(rows), "--from-distances"], "omit --from-distances"),
    ):
        assert main(command) == 2
        last = capsys.readouterr().err.splitlines()[-1]
        assert message in last
        assert "DistanceMatrix" not in last
        assert "obs" not in last.replace("observations", "")


def test_every_command_and_every_option_has_words_and_an_example():
    parser = _parser()
    (commands,) = (one.choices for one in parser._actions if isinstance(one.choices, dict))
    for name, command in commands.items():
        command.filled()
        assert f"loopylatent {name}" in command.epilog
        assert command.description
        assert [one.dest for one in command._actions if not one.help] == []


def test_the_list_of_commands_loads_no_numbers():
    code = (
        "import sys; from loopylatent.cli.main import main; sys.argv[1:] = ['--help']\n"
        "try: main()\n"
        "except SystemExit: print(sorted({'numpy', 'pandas', 'scipy', 'numba'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_a_closed_output_is_no_error():
    command = [sys.executable, "-m", "loopylatent", "samples"]
    shell = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command], capture_output=True, check=False
    )
    assert (shell.returncode, shell.stderr) == (0, b"")
