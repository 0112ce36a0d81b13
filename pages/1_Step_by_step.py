"""Step by step: the algorithm as a lesson, with the numbers of each step."""

from loopylatent.ui.lesson import page as lesson
from loopylatent.ui.page import choose, setup

session = setup("Step by step")
walk = lesson.begin(session)
now = choose(session, lesson.link_of(session, walk))

lesson.say_notices(session)
course = lesson.lesson_of(session, walk, now)
lesson.headline(session, walk, now, course)
lesson.show(session, walk, course)
