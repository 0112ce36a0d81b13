"""Learning loopy graphical models with hidden variables (Anandkumar and Valluvan, 2013).

>>> import loopylatent as ll
>>> sample = ll.load_sample("bfi25")
>>> D = ll.information_distances(sample.observations)
>>> ll.learn(D).graph.n_observed
25

``__init__.pyi`` lists the public names; a subpackage is imported when first used.
"""

from importlib import import_module
from typing import Any

import lazy_loader

from loopylatent.compute.files import __version__ as __version__

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_MODULES = {"laboratory": "synthetic.laboratory", "notebook": "exporting.notebook"}
__all__ += ["__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    return _load(name)
