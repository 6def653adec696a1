# SPDX-License-Identifier: Apache-2.0
"""The driver of ohb: plans rows, runs interleaved blocks on two sides, does the statistics, writes results."""
