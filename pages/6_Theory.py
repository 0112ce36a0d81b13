"""Theory: what the paper guarantees for a model, and what can be checked on data."""

from loopylatent.ui import theory_page
from loopylatent.ui.page import setup

session = setup("Theory")
chosen = theory_page.choose(session)
theory_page.show(session, chosen)
