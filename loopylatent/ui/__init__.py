"""Streamlit glue: the only part of the package that knows the app."""
