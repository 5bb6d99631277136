"""What every store must do, as tests: subclass `StoreSuite`, give it a store, and run it with pytest and anyio.

class TestMyStore(StoreSuite):
    @pytest.fixture
    async def store(self): ...       # an open store of tenant "default", closed afterwards

    @pytest.fixture
    async def neighbour(self): ...   # a store of another tenant over the same data

Each test wants a store without data, and none closes the store that it is given: connections may serve many tests.
"""

from lamina.testing.suites.changes_suite import Changing
from lamina.testing.suites.costs_suite import Costs
from lamina.testing.suites.counting_suite import Counting
from lamina.testing.suites.episodes_suite import Episodes
from lamina.testing.suites.erasing_suite import Erasing
from lamina.testing.suites.erasing_whole_suite import ErasingWhole
from lamina.testing.suites.facts_suite import Facts
from lamina.testing.suites.folding_suite import Folding
from lamina.testing.suites.housekeeping_suite import Housekeeping
from lamina.testing.suites.keys_suite import Keys
from lamina.testing.suites.log_suite import Log
from lamina.testing.suites.reading_suite import Reading
from lamina.testing.suites.replacing_suite import Replacing
from lamina.testing.suites.sessions_suite import Sessions
from lamina.testing.suites.swapping_suite import Swapping
from lamina.testing.suites.tenants_suite import Tenants
from lamina.testing.suites.unread_suite import Unread
from lamina.testing.suites.vectors_suite import Vectors
from lamina.testing.suites.workers_suite import Workers


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
    """Every promise of `lamina.protocols.store.Store`; subclasses give the fixtures `store` and `neighbour`."""


__all__ = ["StoreSuite"]
