# SPDX-License-Identifier: Apache-2.0
"""Asks daemons over HTTP whether they are ready."""
import json
import urllib.request

from daemons.ports import HOST

DATANODE = "Hadoop:service=DataNode,name=DataNodeInfo"
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(port, path, host=HOST):
    """The JSON that a daemon answers, or None while it does not."""
    try:
        with _OPENER.open(f"http://{host}:{port}{path}", timeout=10) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def bean(port, name, host=HOST):
    """A JMX bean of a daemon; empty while it is not there."""
    answer = ask(port, f"/jmx?qry={name}", host) or {}
    return (answer.get("beans") or [{}])[0]


def hdfs(ports, datanodes, place=lambda name: HOST):
    """None when every DataNode is registered and the NameNode is not in safe mode, else what is missing. The DataNodes
    are asked, too: the NameNode takes one that was killed for a live one for a while. place: the address of a daemon's page."""
    state = bean(ports["namenode-http"], "Hadoop:service=NameNode,name=FSNamesystemState")
    if not state:
        return "the NameNode does not answer"
    live = state.get("NumLiveDataNodes", 0)
    if live < datanodes:
        return f"{live} of {datanodes} DataNodes have registered"
    for number in range(1, datanodes + 1):
        name = f"datanode{number}"
        actors = json.loads(bean(ports[f"{name}-http"], DATANODE, place(name)).get("BPServiceActorInfo") or "[]")
        if not actors or any(actor["ActorState"] != "RUNNING" for actor in actors):
            return f"{name} has not registered"
    return None if state.get("FSState") == "Operational" else "the NameNode is in safe mode"


def yarn(ports, nodemanagers):
    """None when every NodeManager is registered and the history server answers, else what is missing."""
    metrics = (ask(ports["rm-http"], "/ws/v1/cluster/metrics") or {}).get("clusterMetrics")
    if metrics is None:
        return "the ResourceManager does not answer"
    if metrics["activeNodes"] < nodemanagers:
        return f"{metrics['activeNodes']} of {nodemanagers} NodeManagers have registered"
    return None if ask(ports["history-http"], "/ws/v1/history/info") else "the JobHistoryServer does not answer"
