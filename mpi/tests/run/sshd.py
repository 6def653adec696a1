# SPDX-License-Identifier: Apache-2.0
"""A real sshd on loopback, with keys, configuration and port of its own in a folder of its own, and its client."""
import getpass
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from runner import LIMIT, Skipped

SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/pid
StrictModes no
UsePAM no
PasswordAuthentication no
MaxStartups 100
{more}"""
CLIENT = """Host one two
    HostName 127.0.0.1
    IdentityFile {folder}/user
Host stranger
    HostName 127.0.0.1
    IdentityFile {folder}/stranger
Host *
    Port {port}
    User {user}
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known
    StrictHostKeyChecking no
    LogLevel ERROR
"""


def find():
    """The server's program, by VERBENA_SSHD or where systems have it."""
    program = os.environ.get("VERBENA_SSHD") or shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        raise Skipped("no sshd or no ssh here (Debian: openssh-server openssh-client)")
    return program


def parts_of(program):
    """Where the programs lie that newer servers start, for a server that is not installed."""
    folder = pathlib.Path(program).resolve().parents[1] / "lib/openssh"
    pairs = (("SshdSessionPath", folder / "sshd-session"), ("SshdAuthPath", folder / "sshd-auth"))
    return "".join(f"{name} {path}\n" for name, path in pairs if path.exists())


def users_with_sshd(folder):
    """Words before a server that root starts where its package has made no user for it: a name space with one."""
    if os.geteuid() != 0 or any(user.pw_name == "sshd" for user in pwd.getpwall()):
        return []
    users = folder / "passwd"
    users.write_text(pathlib.Path("/etc/passwd").read_text() + "sshd:x:65534:65534::/run/sshd:/usr/sbin/nologin\n")
    users.chmod(0o644)
    return ["unshare", "-m", "sh", "-c", f'mount --bind {users} /etc/passwd && exec "$0" "$@"']


class Server:
    """Runs while it is entered. client: a program to be called as ssh; it knows the hosts one, two and stranger, whom the
    server does not let in."""

    def __enter__(self):
        program = find()
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self._held = socket.socket()  # has the server's port, so that nobody else gets it; the server asks for reuse
        self._held.bind(("127.0.0.1", 0))
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._port = self._held.getsockname()[1]
        for name in ("host", "user", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        self._write("server", SERVER.format(port=self._port, folder=self.folder, more=parts_of(program)))
        self._write("client", CLIENT.format(port=self._port, folder=self.folder, user=getpass.getuser()))
        self.client = self._write("ssh", f"#!/bin/sh\nexec ssh -F {self.folder}/client \"$@\"\n", 0o700)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # where it locks itself in
        self._process = subprocess.Popen([*users_with_sshd(self.folder), program, "-D", "-e", "-f", self.folder / "server"],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "w"),
                                         start_new_session=True)
        self._wait()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._held.close()
        self._folder.cleanup()

    def _write(self, name, text, mode=0o600):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def _wait(self):
        """Until it lets us in; a server that cannot run here is a reason to skip."""
        deadline = time.monotonic() + LIMIT
        while subprocess.run([self.client, "-o", "BatchMode=yes", "one", "true"], stdin=subprocess.DEVNULL,
                             capture_output=True).returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                reason = (self.folder / "log").read_text().strip().splitlines()[-1:] or ["it lets nobody in"]
                self.__exit__()
                raise Skipped(f"sshd cannot run here: {reason[0]}")
            time.sleep(0.05)

    def sessions(self):
        """Processes of the server that serve somebody."""
        listing = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self._process.pid)], capture_output=True, text=True)
        return listing.stdout.split()
