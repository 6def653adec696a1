# SPDX-License-Identifier: Apache-2.0
"""The smallest generator: does a fixed amount of arithmetic per block and echoes the seed. Used by the A/A control."""
import json
import os
import sys
import time
import zlib


def work(milliseconds):
    """Burns about that much CPU in fixed steps; the number of steps, not the clock, ends it."""
    data = bytes(range(256)) * 256
    total = 0
    for step in range(int(milliseconds * 12)):
        total = zlib.crc32(data, total ^ step)
    return total


def main():
    print(json.dumps({"ready": True, "pid": os.getpid()}), flush=True)
    milliseconds = 0.0
    for line in sys.stdin:
        words = line.split()
        if words[0] == "quit":
            return
        if words[0] == "warm":
            milliseconds = float(words[2].partition("=")[2])
        seed = int(words[2]) if words[0] == "block" else 0
        start, cpu = time.perf_counter(), time.process_time()
        checksum = work(milliseconds)
        print(json.dumps({"wall_ms": (time.perf_counter() - start) * 1e3, "cpu_ms": (time.process_time() - cpu) * 1e3,
                          "seed": seed, "records": 1, "checksum": f"{checksum:08x}"}), flush=True)


if __name__ == "__main__":
    main()
