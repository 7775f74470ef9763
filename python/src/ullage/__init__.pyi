from ._version import __version__ as __version__
from ._holders.find import holders as holders
from ._holders.result import Holder as Holder
from ._holders.result import Holders as Holders
from ._fit.ask import Fit as Fit, FitError as FitError, fit as fit
from ._leaks.growth import Growth as Growth
from ._leaks.growth import GrowthWarning as GrowthWarning
from ._leaks.release import Release as Release
from ._leaks.release import release as release
from ._leaks.watch import Watch as Watch
from ._leaks.watch import step as step
from ._leaks.watch import watch as watch
from ._measure.block import measure as measure
from ._measure.outlook import Preflight as Preflight
from ._measure.preflight import preflight as preflight
from ._measure.result import Measurement as Measurement
from ._measure.snapshot import snapshot as snapshot
from ._pool.cache import Cache as Cache
from ._pool.errors import PoolInUse as PoolInUse, PoolOutOfMemory as PoolOutOfMemory
from ._pool.limit import Limit as Limit, limit as limit
from ._pool.pool import Pool as Pool
from ._oom.batch import BatchSize as BatchSize, find_batch_size as find_batch_size
from ._oom.microbatch import microbatch as microbatch
from ._oom.ranks import RankError as RankError
from ._oom.retry import retry_on_oom as retry_on_oom
