"""What every store must do, as tests: subclass `StoreSuite`, give it a store, and run it with pytest and anyio.

class TestMyStore(StoreSuite):
    @pytest.fixture
    async def store(self): ...       # an open store of tenant "default", closed afterwards

    @pytest.fixture
    async def neighbour(self): ...   # a store of another tenant over the same data

Each test wants a store without data, and none closes the store that it is given: connections may serve many tests.
"""

from lamina.testing.suites.changes import Changing
from lamina.testing.suites.costs import Costs
from lamina.testing.suites.counting import Counting
from lamina.testing.suites.episodes import Episodes
from lamina.testing.suites.erasing import Erasing
from lamina.testing.suites.erasing_whole import ErasingWhole
from lamina.testing.suites.facts import Facts
from lamina.testing.suites.folding import Folding
from lamina.testing.suites.housekeeping import Housekeeping
from lamina.testing.suites.keys import Keys
from lamina.testing.suites.reading import Reading
from lamina.testing.suites.replacing import Replacing
from lamina.testing.suites.sessions import Sessions
from lamina.testing.suites.swapping import Swapping
from lamina.testing.suites.tenants import Tenants
from lamina.testing.suites.the_log import Log
from lamina.testing.suites.unread import Unread
from lamina.testing.suites.vectors import Vectors
from lamina.testing.suites.workers import Workers


class StoreSuite(
    Log,
    Sessions,
    Replacing,
    Reading,
    Folding,
    Facts,
    Unread,
    Episodes,
    Swapping,
    Erasing,
    ErasingWhole,
    Changing,
    Vectors,
    Housekeeping,
    Workers,
    Tenants,
    Keys,
    Costs,
    Counting,
):
    """Every promise of `lamina.ports.Store`; subclasses give the fixtures `store` and `neighbour`."""


__all__ = ["StoreSuite"]
