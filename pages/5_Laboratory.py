"""Laboratory: recovery of known graphs from synthetic data."""

from loopylatent.ui.laboratory import page as lab
from loopylatent.ui.page import setup

session = setup("Laboratory")
chosen = lab.choose()
lab.show(session, chosen)
