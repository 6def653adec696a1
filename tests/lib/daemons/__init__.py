# SPDX-License-Identifier: Apache-2.0
"""What the released clusters of the tests share: processes, ports, site files, readiness, errors for users."""
