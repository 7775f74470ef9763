from ._version import __version__ as __version__
from ._measure.block import measure as measure
from ._measure.result import Measurement as Measurement
from ._pool.cache import Cache as Cache
from ._pool.errors import PoolInUse as PoolInUse, PoolOutOfMemory as PoolOutOfMemory
from ._pool.limit import Limit as Limit, limit as limit
from ._pool.pool import Pool as Pool
