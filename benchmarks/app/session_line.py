"""A session of the app without a browser, over Streamlit's WebSocket protocol.

To the server it is a browser tab. It needs little memory, so many can run at once and the server
is what is measured.
"""

from __future__ import annotations

import json
import re
import threading
from typing import Any
from urllib.parse import parse_qsl

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

MAX_BYTES = 2**28
TIMEOUT = 300.0
COUNTS = r"\*\*(\d+)\*\* (observed|hidden|edge|cycle|component)"
ELEMENTS = ("markdown", "slider", "bidi_component", "exception")


class Line:
    """One session: the state of its page after the last run, and inputs to it."""

    def __init__(self, address: str, query: str) -> None:
        place = address.replace("http://", "ws://") + "/_stcore/stream"
        self._socket = connect(
            place,
            subprotocols=["streamlit"],
            max_size=MAX_BYTES,
            ping_interval=None,
            open_timeout=TIMEOUT,
        )  # type: ignore[list-item]
        self._seen: dict[tuple[int, ...], Any] = {}
        self._shown: dict[tuple[int, ...], Any] = {}
        self.query = query
        self.runs = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._rerun()

    def close(self) -> None:
        """Close the session like a tab."""
        self._socket.close()
        self._listener.join()

    @property
    def link(self) -> dict[str, str]:
        return dict(parse_qsl(self.query))

    @property
    def errors(self) -> list[str]:
        """The error messages on the page."""
        return [one.exception.message for one in self._of("exception")]

    @property
    def counts(self) -> dict[str, int]:
        """The counts in the summary line."""
        for one in self._of("markdown"):
            found = re.findall(COUNTS, one.markdown.body)
            if len(found) == 5:
                return {what: int(number) for number, what in found}
        return {}

    @property
    def edges(self) -> list[list[int]]:
        """The edges that the page draws."""
        for one in self._of("bidi_component"):
            content = json.loads(one.bidi_component.json or "{}")
            if "edges" in content:
                return sorted(sorted((edge["from"], edge["to"])) for edge in content["edges"])
        return []

    def step_r(self, direction: int) -> None:
        """Move the slider of r by one step."""
        slider = next(one.slider for one in self._of("slider") if "slider_r" in one.slider.id)
        here = slider.value[0] if slider.set_value else slider.default[0]
        moved = float(self.link.get("r", here)) + direction * slider.step
        message = self._message()
        state = message.rerun_script.widget_states.widgets.add(id=slider.id)
        state.double_array_value.data.append(min(max(moved, slider.min), slider.max))
        self._socket.send(message.SerializeToString())

    def _rerun(self) -> None:
        self._socket.send(self._message().SerializeToString())

    def _message(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string = self.query
        return message

    def _listen(self) -> None:
        try:
            for content in self._socket:
                message = ForwardMsg()
                message.ParseFromString(content)  # type: ignore[arg-type]
                self._handle(message)
        except ConnectionClosed:
            return

    def _handle(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._seen = {}
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            if element.WhichOneof("type") in ELEMENTS:
                self._seen[tuple(message.metadata.delta_path)] = element
        elif (
            kind == "script_finished"
            and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
        ):
            self._shown = dict(self._seen)
            self.runs += 1

    def _of(self, kind: str) -> list[Any]:
        return [one for one in self._shown.values() if one.WhichOneof("type") == kind]
