# SPDX-License-Identifier: Apache-2.0
"""Daemon sets and generators that the rows need, one module each."""
