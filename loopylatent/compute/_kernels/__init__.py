"""Compiled array functions: arrays in, arrays out."""
