"""Reads one table in a process with limited memory, and prints its shape or the error.

python table_memory_run.py FILE MEGABYTES: the limit is added to the memory after a small first
table.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from helpers.memory_run import taken
from loopylatent.errors import LoopyLatentError
from loopylatent.tables.read import read_frame


def main() -> None:
    read_frame(b"a,b,c\n1,2,3\n")
    content = Path(sys.argv[1]).read_bytes()
    limit = taken() + int(sys.argv[2]) * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        print(read_frame(content, name="table").shape)
    except LoopyLatentError as error:
        print(error)


if __name__ == "__main__":
    main()
