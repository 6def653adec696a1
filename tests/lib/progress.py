# SPDX-License-Identifier: Apache-2.0
"""How often something that takes long says what it waits for."""
import os
import sys


def silence():
    """Seconds between two lines, as ./verbena has them for its own commands."""
    return float(os.environ.get("VERBENA_PROGRESS") or (10 if sys.stderr.isatty() else 30))
