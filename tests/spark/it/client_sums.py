# SPDX-License-Identifier: Apache-2.0
"""What client_job.py adds up: the numbers below NUMBERS by their remainder of KEYS, in PARTS partitions."""
NUMBERS, KEYS, PARTS = 50000, 50, 4
