"""Chapter 5: what came of it, beside where it started and beside the truth."""

from __future__ import annotations

from loopylatent.lesson.captions import counted, say
from loopylatent.lesson.cast import EdgeKey
from loopylatent.lesson.frames import Frame, Key, Mark, Place, drawn
from loopylatent.lesson.material import Material


def gained_frame(m: Material, place: Place) -> Frame:
    """The learned graph, and what grouping took away and put in."""
    graph, initial, learned = m.result.graph, m.initial, m.learned
    lost = {edge: length for edge, length in initial.items() if edge not in learned}
    marks: dict[EdgeKey, Mark] = {edge: "added" for edge in learned if edge not in initial}
    caption = say(
        "The result: {edges}, {hidden} and {cycles}. Of the {start} edges before grouping {kept} "
        "are still there, {lost} have gone, and {new} are new.",
        edges=counted(graph.n_edges, "edge"),
        hidden=counted(graph.n_hidden, "hidden node"),
        cycles=counted(graph.n_cycles, "cycle"),
        start=len(initial),
        kept=len(initial) - len(lost),
        lost=len(lost),
        new=len(marks),
    )
    return Frame(
        place,
        caption,
        15,
        m.shown(learned),
        drawn(learned, marks=marks) + drawn(lost, "removed"),
        legend=(
            Key("added", "put in by grouping"),
            Key("removed", "taken away"),
            Key("kept", "there from the start"),
        ),
    )


def compared_frame(m: Material, place: Place) -> Frame:
    """The learned graph beside the truth."""
    learned, true = m.learned, m.cast.truth_edges
    missed = {edge: length for edge, length in true.items() if edge not in learned}
    wrong = [edge for edge in learned if edge not in true]
    marks: dict[EdgeKey, Mark] = dict.fromkeys(wrong, "wrong")
    error = m.structure_error
    assert error is not None
    bound = "" if error.is_exact else "at most "
    caption = say(
        "Against the truth: {found} of {n} edges found, {missed} missed, {wrong} that the truth "
        "does not have. The [structure error] is {bound}{error}.",
        found=len(true) - len(missed),
        n=len(true),
        missed=len(missed),
        wrong=len(wrong),
        bound=bound,
        error=error.value,
    )
    shown = set(m.shown(learned)) | set(m.shown(missed))
    return Frame(
        place,
        caption,
        15,
        tuple(sorted(shown)),
        drawn(learned, marks=marks) + drawn(missed, "removed"),
        legend=(
            Key("kept", "found"),
            Key("removed", "missed"),
            Key("wrong", "not in the truth"),
        ),
    )
