"""For the tests of programs that use Toolwire: a model that says what the test tells it to, and what goes with it.

`toolwire.testing.bodies` has the bytes of single answers, for whoever tests closer to the wire.
"""

from .scripted import ScriptedModel as ScriptedModel
from .scripted import approve_all as approve_all
from .scripted import call as call
from .scripted import cut_off as cut_off
from .scripted import deny_all as deny_all
from .scripted import events_of as events_of
from .scripted import fail as fail
from .scripted import half_call as half_call
from .scripted import say as say
from .scripted import think as think
from .scripted import token_limit as token_limit

__all__ = [
    "ScriptedModel",
    "approve_all",
    "call",
    "cut_off",
    "deny_all",
    "events_of",
    "fail",
    "half_call",
    "say",
    "think",
    "token_limit",
]
