"""Evaluate: hidden nodes as topics, their overlaps, and scores on held-out rows."""

from loopylatent.ui.evaluate import page as evaluate
from loopylatent.ui.page import choose, setup

session = setup("Evaluate")
now = choose(session)

evaluate.say_notices(session)
evaluate.headline(now)
evaluate.show(session, now)
