"""Evaluate: hidden nodes as topics, where they meet, and how well models foretell."""

from loopylatent.ui.evaluate import page as evaluate
from loopylatent.ui.page import choose, setup

session = setup("Evaluate")
now = choose(session)

evaluate.say_notices(session)
evaluate.headline(now)
evaluate.show(session, now)
