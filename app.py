"""Explore: choose data and thresholds, see the graph, inspect nodes, export."""

from loopylatent.ui.explore import page as explore
from loopylatent.ui.explore.refine import refined
from loopylatent.ui.page import chosen_first, say_notices, setup

session = setup("Explore")
with chosen_first(session) as now:
    explore.follow_test(session, now.source.distances)
    say_notices(session)
    explore.offer_tour(session)
    shown = refined(session, now)
    explore.headline(session, shown)
    scene = explore.show_graph(session, shown)
explore.offer_tour_again(session)
explore.warnings(now)
explore.show_more(session, shown, scene)
