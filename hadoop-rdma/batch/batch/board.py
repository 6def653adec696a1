# SPDX-License-Identifier: Apache-2.0
"""Values that the nodes of a job leave each other, as files of a folder that all of them see.

Each file has one writer, and is there whole or not at all. A folder of NFS shows a new file after some seconds, up to half a minute
with its defaults: whoever waits lists the folder first, which makes the client ask its server.
"""
import errno
import json
import os
import time

TRIES = 20  # of a file that is replaced meanwhile
PAUSE = 0.25  # seconds between two looks


class Board:
    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, value):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w") as file:
            json.dump(value, file)
        os.replace(file.name, path)

    def read(self, name, default=None):
        """The value; the default when it is not there."""
        for _ in range(TRIES):
            try:
                return self._read(self.path(name))
            except (FileNotFoundError, NotADirectoryError):
                return default
            except OSError as error:
                if error.errno != errno.ESTALE:
                    raise
                time.sleep(PAUSE)  # of NFS: the file was replaced between two steps
        return default

    @staticmethod
    def _read(path):
        os.listdir(os.path.dirname(path))
        with open(path) as file:
            return json.load(file)

    def wait(self, look, limit):
        """The first true value of look(), or None when none comes within so many seconds."""
        deadline = time.monotonic() + limit
        while True:
            value = look()
            if value or time.monotonic() >= deadline:
                return value or None
            time.sleep(PAUSE)
