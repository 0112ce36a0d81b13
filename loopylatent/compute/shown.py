"""Results that a notebook shows; the room that draws them is loaded when a notebook asks."""

from importlib import import_module


class Shown:
    """A result with a view in `loopylatent.exporting.notebook`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        view = import_module("loopylatent.exporting.notebook")
        text: str = view.html_of(self)
        return text
