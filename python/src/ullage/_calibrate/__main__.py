"""`python -m ullage._calibrate`, as `ullage fit --calibrate` starts it."""
from __future__ import annotations

import sys

from .run import main

sys.exit(main())
