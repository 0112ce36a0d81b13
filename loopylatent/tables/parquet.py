"""Read a Parquet file into a data frame; how much it holds is known before it is unpacked."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from loopylatent.errors import DataError, quoted
from loopylatent.tables.files import File, stream
from loopylatent.tables.headers import check_names

HEAD_BYTES = 64
_INDEX = "__index_level_"
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def is_parquet(head: bytes) -> bool:
    """Whether a file begins as Parquet does; a table may have a first column called PAR1."""
    return head.startswith(b"PAR1") and _NO_TEXT.search(head[:HEAD_BYTES]) is not None


def read_parquet(file: File, max_bytes: int) -> pd.DataFrame:
    """Read all columns; lists, structs and maps are refused, one value a cell is a table."""
    try:
        frame = _read(file, max_bytes)
    except (DataError, MemoryError):
        raise
    except Exception:  # whatever a damaged file makes the reader raise
        raise file.error("the Parquet file is damaged; write it again.") from None
    return frame.reset_index(drop=True)


def _read(file: File, max_bytes: int) -> pd.DataFrame:
    parquet = pq.ParquetFile(stream(file))
    schema = parquet.schema_arrow
    check_names([name for name in schema.names if not name.startswith(_INDEX)])
    for field in schema:
        if pa.types.is_nested(field.type):
            raise file.error(
                f"column {quoted(field.name)} holds a {_kind(field.type)} in each cell; "
                "make columns of its parts, or leave it out."
            )
    file.check_size(_declared_bytes(parquet.metadata, schema), max_bytes)
    texts = [field.name for field in schema if _is_text(field.type)]
    table = pq.ParquetFile(stream(file), read_dictionary=texts).read()
    file.check_size(table.nbytes + sum(_text_bytes(table[name]) for name in texts), max_bytes)
    for k, name in enumerate(table.column_names):
        if name in texts and pa.types.is_dictionary(table.schema.field(k).type):
            spelled_out = table[name].cast(schema.field(name).type)
            table = table.set_column(k, schema.field(name), spelled_out)
    _check_texts(file, table, schema)
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    return frame


def _check_texts(file: File, table: Any, schema: Any) -> None:
    """Refuse text that is none: whoever reads it later would only say that it cannot."""
    for field in schema:
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            try:
                table[field.name].validate(full=True)
            except pa.ArrowInvalid:
                raise file.error(
                    f"column {quoted(field.name)} holds text that is not UTF-8; "
                    "write it again as UTF-8, or as bytes, or leave it out."
                ) from None


def _declared_bytes(metadata: Any, schema: Any) -> int:
    """The larger of what the file says that it unpacks to, and what its cells take at least."""
    groups = (metadata.row_group(k) for k in range(metadata.num_row_groups))
    unpacked = sum(group.total_byte_size for group in groups)
    row = sum(_cell_bytes(field.type) for field in schema)
    return max(int(unpacked), int(metadata.num_rows) * row)


def _cell_bytes(kind: Any) -> int:
    """A value of fixed width may stand once in the file and in every cell of the table."""
    return max(8, int(kind.byte_width)) if pa.types.is_fixed_size_binary(kind) else 8


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _text_bytes(column: Any) -> int:
    """Bytes of a text column once each value is spelled out."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary)
            total += pc.sum(pc.cast(lengths.take(chunk.indices), pa.int64())).as_py() or 0
    return total


def _kind(kind: Any) -> str:
    if pa.types.is_struct(kind):
        return "structure"
    return "map" if pa.types.is_map(kind) else "list"
