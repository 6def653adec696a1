# SPDX-License-Identifier: Apache-2.0
"""A set of daemons inside the nodes of a batch job: found, started, watched, flushed, ended."""
