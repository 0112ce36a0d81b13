"""Streamlit glue, a folder for each page over a small shell; the only room that knows the app."""
