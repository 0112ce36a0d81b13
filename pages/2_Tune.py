"""Tune: the graph over all thresholds, and suggested settings."""

from loopylatent.ui.page import choose, setup
from loopylatent.ui.tune import page as tune

session = setup("Tune")
now = choose(session)

tune.say_notices(session)
tune.headline(session, now)
tune.show(session, now)
