"""Compiled array functions: arrays in, arrays out; numba is imported when one is first used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
