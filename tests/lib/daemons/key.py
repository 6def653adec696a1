# SPDX-License-Identifier: Apache-2.0
"""Keys of clusters."""
import os
import secrets


def new(path):
    """Writes a fresh key into a file of its own, readable by this user alone; gives the path."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path
