# SPDX-License-Identifier: Apache-2.0
"""Ports of a cluster that follow from others."""
from daemons.errors import Failed
from daemons.ports import give_back, take


def greeting_offset(ports):
    """verbena.hdfs.port.offset with which no DataNode's greeting meets a port of the cluster or of another program; the
    greetings' ports are this process' own then."""
    data = [port for name, port in ports.items() if name.startswith("datanode") and "-" not in name]
    for offset in range(20, 5000):
        taken = []
        for port in data:
            if not take(port + offset):
                break
            taken.append(port + offset)
        if len(taken) == len(data):
            ports.update({f"greeting-{number}": port for number, port in enumerate(taken, 1)})
            return offset
        give_back(taken)
    raise Failed("no free ports for the DataNodes' greetings: end programs that listen on loopback ('ss -ltnp' lists them)")
