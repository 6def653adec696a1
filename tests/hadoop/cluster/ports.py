# SPDX-License-Identifier: Apache-2.0
"""Ports of a cluster that follow from others."""
from daemons.errors import Failed
from daemons.ports import is_free


def greeting_offset(ports):
    """verbena.hdfs.port.offset with which no DataNode's greeting meets a port of the cluster or of another program."""
    data = [port for name, port in ports.items() if name.startswith("datanode") and "-" not in name]
    for offset in range(20, 5000):
        if all(port + offset not in ports.values() and is_free(port + offset) for port in data):
            return offset
    raise Failed("no free ports for the DataNodes' greetings: end programs that listen on loopback ('ss -ltnp' lists them)")
