"""Column names that try to be executed, to break out of their context or to mislead."""

from __future__ import annotations

import numpy as np
import pandas as pd

HOSTILE_NAMES: tuple[str, ...] = (
    '<img src=x onerror="window.hacked=1">',
    "</script><script>window.hacked=1</script>",
    "<b>bold</b> *bold* _i_ [link](javascript:window.hacked=1)",
    "&lt;b&gt; &amp; ]]> <!-- -->",
    "\"double\" and 'single' \\ back \\n",
    "''' triple \"\"\"",
    "two\nlines\r\nand a\ttab",
    "🦊 漢字 👩‍👩‍👧",
    "שלום مرحبا",
    "\u202eoverride \u2066isolate\u2069 \u2028 separator",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.com")',
    "+1",
    "@x",
    "-o",
    "--drop=a",
    "a=b",
    "a=binary",
    "control \x01\x03\x07\x0b\x1b[201~\x1b[31m\x7f\x9b",
    "`touch pwned`",
    "$(touch pwned)",
    "; touch pwned #",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "\x03\ntouch pwned\n#",
    "');__import__('os').system('touch pwned')#",
    "{{ 7 * 7 }}{% raw %} {0} %s %(x)s",
    "a,b;c|d # e",
    "a;=cmd();b\n@x",
    "http://evil.example/ www.evil.example a@evil.example :streamlit: x <= y",
    "__proto__",
    "NA",
    "007",
    " leading and trailing ",
    "C:\\folder\\name ../../etc/passwd",
    "x" * 2_000,
)
"""All different, none blank, all valid in a file: no NUL, no lone surrogates.

Text files keep them except for surrounding spaces; Parquet files keep them exactly.
"""


def hostile_frame(n: int = 300) -> pd.DataFrame:
    """Return a table with these columns, four on each hidden variable of a chain."""
    rng = np.random.default_rng(0)
    n_groups = -(-len(HOSTILE_NAMES) // 4)
    chain = np.cumsum(rng.normal(size=(n, n_groups)), axis=1)
    chain /= chain.std(axis=0)
    group = np.arange(len(HOSTILE_NAMES)) // 4
    values = chain[:, group] + 0.7 * rng.normal(size=(n, len(HOSTILE_NAMES)))
    return pd.DataFrame(values.round(6), columns=list(HOSTILE_NAMES))
