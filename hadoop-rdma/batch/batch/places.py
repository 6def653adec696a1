# SPDX-License-Identifier: Apache-2.0
"""Where a session has its files, ports and programs: what the systems ask when they plan their daemons."""
import glob
import os
import secrets
import shutil

from .errors import Failed

TREE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
OPENS = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (
    "java.lang", "java.util", "java.util.concurrent", "java.io", "java.net", "java.nio", "sun.nio.ch")]  # as Hadoop's own scripts


FILES = ("jar", "spark_jar", "hbase_jar", "memcached_program")  # options that name a file of each node
DATA = "dn"  # name of the DataNode's port


def built(pattern, what):
    """The one file of a pattern below the source tree."""
    found = sorted(glob.glob(os.path.join(TREE, pattern)))
    if not found:
        raise Failed(f"{what} is not built: run {os.path.join(TREE, 'verbena')} build on a host that has the packages")
    return found[-1]


SHM = "/dev/shm"


class Places:
    """options: of the command line; job; nodes: what each node has said of itself."""

    def __init__(self, options, job, work, nodes):
        self.options, self.job, self.work, self.nodes = options, job, work, nodes
        self._ports = {}  # {node: {name: number}}; the first one is the DataNode's
        self.key = os.path.join(work, "key")

    def make_key(self):
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))

    def indexes(self):
        return range(len(self.nodes))

    def address(self, node):
        return self.nodes[node]["address"]

    def port(self, node, name):
        """A port of a node, the same for the same name: one that the node has offered."""
        mine = self._ports.setdefault(node, {DATA: self.nodes[node]["ports"][0]})
        if name not in mine:
            mine[name] = self.nodes[node]["ports"][len(mine)]
        return mine[name]

    def at(self, node, name):
        return f"{self.address(node)}:{self.port(node, name)}"

    def _own(self, folder, node):
        return os.path.join(folder, f"verbena-{os.getuid()}-{self.job.identity}-{self.options.token}-{node}")

    def local(self, node, *names):
        """A folder of the job's own on a node's disk."""
        return os.path.join(self._own(self.options.local, node), *names)

    def fast(self, node, *names):
        return os.path.join(self._own(self.options.ssd or self.options.local, node), *names)

    def memory(self, node):
        return os.path.join(self._own(SHM, node))

    def conf(self, name):
        return os.path.join(self.work, "conf", name)

    def check(self):
        """Fails for folders and files that this host lacks: the user's command runs here."""
        for name in ("conf", "shared"):
            folder = getattr(self.options, name)
            if folder and not os.path.isdir(folder):
                raise Failed(f"--{name} {folder} is no folder on this host: all nodes of the job have to see it")
        for name in FILES:
            file = getattr(self.options, name)
            if file and not (os.path.isfile(file) or shutil.which(file)):
                raise Failed(f"--{name.replace('_', '-')} {file} is no file on this host: all nodes of the job have to see it")
        if self.options.shared and not os.access(self.options.shared, os.W_OK | os.X_OK):
            raise Failed(f"--shared {self.options.shared}: this user may not make files there; take another folder, or change its "
                         "mode")
        if self.options.hadoop or self.options.spark:
            self.java()

    def java(self):
        home = os.environ.get("JAVA_HOME")
        found = os.path.join(home, "bin", "java") if home else shutil.which("java")
        if not found or not os.access(found, os.X_OK):
            raise Failed("no java: load a module with a JDK 17, or set JAVA_HOME, before verbena-batch")
        return found

    def daemon(self, name, node, rank, argv, environment=None, before=None):
        """What an agent starts. rank: daemons of the highest one end first. before: a command that has to succeed first."""
        return {"name": name, "node": node, "rank": rank, "argv": argv, "before": before, "environment": environment or {},
                "folder": self.local(node, "run", name)}

    def own(self, node):
        """The folders of the session on a node, which its agent removes at the end."""
        memory = SHM if self.options.mode.startswith("hhh") and self.options.hadoop else None
        return [*(self._own(folder, node) for folder in (self.options.local, self.options.ssd, memory) if folder), self.common()]

    def common(self, *names):
        """A folder on a node's disk that has the same name on all nodes."""
        return os.path.join(self._own(self.options.local, "all"), *names)
