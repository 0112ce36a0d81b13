"""Help: the method, its symbols and limits, and a glossary."""

from loopylatent.ui.help import page as help_page
from loopylatent.ui.page import setup

setup("Help")
help_page.contents()
help_page.show()
