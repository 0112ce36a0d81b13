"""Theory: the guarantees of the paper, and what can be checked on data."""

from loopylatent.ui.page import setup
from loopylatent.ui.theory import page as theory_page

session = setup("Theory")
chosen = theory_page.choose(session)
theory_page.show(session, chosen)
