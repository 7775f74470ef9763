from ._version import __version__ as __version__
from ._measure.block import measure as measure
from ._measure.result import Measurement as Measurement
