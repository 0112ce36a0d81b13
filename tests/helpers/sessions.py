"""Sessions of a running server."""

from __future__ import annotations

from loopylatent.synthetic.families import latent_cycle

GO_ON = "Use settings of the link"


def answers(k: int) -> bytes:
    """Return a table that differs for every ``k``."""
    frame = latent_cycle(5 + k, 2, seed=k).sample(300, seed=k).to_frame()
    frame.insert(0, "who", [f"person {n}" for n in range(len(frame))])
    return frame.to_csv(index=False).encode()
