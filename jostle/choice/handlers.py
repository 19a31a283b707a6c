"""Handlers of choices, for those who look for them here.

They live in `jostle.choosing`, below the Options, since Options make choices; what learns policies is built on Options,
and lives here.
"""

from jostle.choice.policies import LearnedPolicy
from jostle.choosing import choose, choose_each, explore, follow, force, price, record, replay

__all__ = ["LearnedPolicy", "choose", "choose_each", "explore", "follow", "force", "price", "record", "replay"]
