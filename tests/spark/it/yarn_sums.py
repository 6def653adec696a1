# SPDX-License-Identifier: Apache-2.0
"""What yarn_job.py adds up: the numbers below NUMBERS, by their remainder of KEYS."""
NUMBERS, KEYS = 200000, 100
