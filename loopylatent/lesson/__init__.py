"""The algorithm as a lesson: the learner's trace, step by step, with captions.

`build` turns a traced result into a `Lesson`. Steps are computed on demand from the trace alone,
so going back is as fast and exact as going forward.
"""

from loopylatent.lesson.lesson import Lesson, build
from loopylatent.lesson.material import CHAPTERS, Detail, Place

__all__ = ["CHAPTERS", "Detail", "Lesson", "Place", "build"]
