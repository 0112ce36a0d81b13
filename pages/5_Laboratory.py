"""Laboratory: make a model, sample it, learn it back, see where it breaks."""

from loopylatent.ui.laboratory import page as lab
from loopylatent.ui.page import setup

session = setup("Laboratory")
chosen = lab.choose()
lab.show(session, chosen)
