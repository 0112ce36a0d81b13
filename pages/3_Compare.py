"""Compare: two graphs side by side on one layout."""

from loopylatent.ui.compare import page as compare
from loopylatent.ui.page import choose, setup

session = setup("Compare")
now = choose(session)

compare.say_notices(session)
pair = compare.choose_pair(session, now)
compare.show(session, pair)
