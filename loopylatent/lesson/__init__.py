"""The algorithm as a lesson: the learner's own trace, step by step, with words beside it.

`build` makes a `Lesson` of a traced result. Its steps are worked out when they are looked at, from
the trace alone, so going back is as quick and as exact as going on.
"""

from loopylatent.lesson.lesson import Lesson, build
from loopylatent.lesson.material import CHAPTERS, Detail, Place

__all__ = ["CHAPTERS", "Detail", "Lesson", "Place", "build"]
