"""Publishing: rows in place of private ones, for whatever classifier; how they are judged and learned from."""

from jostle.tasks.publishing.published import Published
from jostle.tasks.publishing.task import PUBLISHING

__all__ = ["PUBLISHING", "Published"]
