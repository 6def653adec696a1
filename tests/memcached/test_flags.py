# SPDX-License-Identifier: Apache-2.0
"""Every row of memcached-rdma/proto/flags.def with every meta command: on which it acts, and that memcached gives the same answers:
that of Debian 12, and that of Debian 13, which has more flags."""
import pathlib
import re
import sys
import unittest

import lines
import shared
from test_differential import CAS, LOOSE, TTL, Names, ttl_class

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "memcached-rdma/tools"))
import gen_tables  # noqa: E402  (needs the path above)

KEY, DECODED = b"a2V5", b"key"
CLEAR = b"delete %s\r\ndelete %s\r\n" % (KEY, DECODED)
STORED = CLEAR + b"set %s 3 0 2\r\n10\r\n" % KEY * 3 # three times: flag C has a smaller CAS id then
STATES = {"absent": CLEAR, "present": STORED, "read": STORED + b"mg %s\r\n" % KEY, "stale": STORED + b"md %s I\r\n" % KEY,
          "expires": CLEAR + b"ms %s 2 T900\r\n10\r\n" % KEY}
CHOSEN = b"1000000000" # CAS id, not one that the server has given
TOKENS = {"SECONDS": b"1000", "NUMBER": b"1", "OPAQUE": b"text", "UNUSED": b"text"}
OWN = {("J", "ma"): b"7", ("D", "ma"): b"5", ("F", "ms"): b"9", ("M", "ms"): b"E", ("M", "ma"): b"D"}
OWN |= {("E", command): CHOSEN for command in ("mg", "ms", "md", "ma")}
BESIDE = (b"", b"v t", b"C1", b"N300", b"MA", b"N300 MA", b"I", b"q") # other flags of the same command
TIMES = re.compile(rb" la=\d+")
DIFFERS = {("T", "ma")} # docs/memcached.md, "Differences from memcached"
OWN_FLAGS = {"K"} # that memcached refuses
BY_ID = {("C", "mg")} # acts only with the item's own CAS id


def token(flag, command):
    return OWN.get((flag.letter, command), TOKENS.get(flag.token, b"S" if flag.token == "MODE" else b""))


def line(command, flags):
    value = b"\r\n25" if command == "ms" else b""
    return b"%s %s%s %s%s\r\n" % (command.encode(), KEY, b" 2" if command == "ms" else b"", flags, value)


def conversations(command, flag=b""):
    """(state, flags beside, bytes) for each: the command in a state of the item, and a look at what it has left."""
    look = b"mg %s s f h v c\r\nmg %s t u\r\nget %s\r\nmn\r\n" % (KEY, KEY, DECODED)
    for state, before in STATES.items():
        for beside in BESIDE if command != "me" else (b"",):
            if not flag or flag[:1] not in [other[:1] for other in beside.split()]:
                yield (state, beside), before + b"mn\r\n" + line(command, beside + b" " + flag) + look


def answers(server, asked):
    """What the server answers to each conversation, by its state and flags."""
    pieces = server.ask(b"".join(data for _, data in asked)).split(b"MN\r\n")
    assert len(pieces) == 2 * len(asked) + 1, f"{len(pieces)} answers to {len(asked)} conversations"
    return {name: piece for (name, _), piece in zip(asked, pieces[1::2])}


def same_ids(answer):
    """With CAS ids by their order, and times to live as some seconds more or less."""
    names = Names()
    names.names[CHOSEN] = CHOSEN
    return TTL.sub(ttl_class, CAS.sub(names.replace, TIMES.sub(b"", answer)))


class FlagsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.flags = gen_tables.load_flags(ROOT)
        cls.stock, cls.ours = shared.Server(stock=True), shared.Server()

    @classmethod
    def tearDownClass(cls):
        for server in (cls.stock, cls.ours):
            server.stop()

    def test_each_acts_on_the_commands_of_its_row_and_on_no_other(self):
        for command in gen_tables.COMMANDS.values():
            plain = answers(self.ours, list(conversations(command)))
            for flag in self.flags:
                asked = list(conversations(command, flag.letter.encode() + token(flag, command)))
                changed = [name for name, answer in answers(self.ours, asked).items()
                           if same_ids(answer) != same_ids(plain[name])]
                with self.subTest(flag=flag.letter, command=command, changed=changed):
                    self.assertEqual(bool(changed), command in flag.commands and (flag.letter, command) not in BY_ID)

    def test_mg_with_the_cas_id_of_the_item_gives_no_value(self):
        """As memcached from 1.6.40 on does; before, it gave the value."""
        store = b"ms %s 2 E%s\r\n10\r\n" % (KEY, CHOSEN)
        answer = self.ours.ask(store + b"mg %s v c C%s\r\nmg %s v C1\r\nmg %s v s C%s T90\r\nmg %s t\r\nmg none v C1\r\nmn\r\n"
                               % (KEY, CHOSEN, KEY, KEY, CHOSEN, KEY))
        self.assertRegex(answer, rb"\AHD\r\nHD c%s\r\nVA 2\r\n10\r\nHD s2\r\nHD t[4-9]\d\r\nEN\r\nMN\r\n\Z" % CHOSEN)

    def test_each_gets_the_answers_of_memcached_from_every_command(self):
        self.compare(self.stock, DIFFERS | {(flag.decode(), command.decode()) for flag, command in lines.LATER}, (b"N300 MA",))

    @unittest.skipUnless(shared.LATER, shared.NO_LATER)
    def test_each_gets_the_answers_of_memcached_1_6_38_from_every_command(self):
        later = shared.Server(program=shared.LATER)
        self.addCleanup(later.stop)
        self.compare(later, DIFFERS, ())

    def compare(self, stock, differs, never_beside):
        for command in gen_tables.COMMANDS.values():
            for flag in self.flags:
                if (flag.letter, command) in differs or flag.letter in OWN_FLAGS:
                    continue
                asked = [(name, data) for name, data in conversations(command, flag.letter.encode() + token(flag, command))
                         if name[1] not in never_beside]
                expected, ours = (answers(server, asked) for server in (stock, self.ours))
                for name, answer in expected.items():
                    with self.subTest(flag=flag.letter, command=command, state=name):
                        self.assertEqual(*(LOOSE.sub(b"", same_ids(text)) for text in (ours[name], answer)))

    def test_a_wrong_token_is_answered_by_the_text_of_its_row(self):
        for flag in self.flags:
            wrong = {"SECONDS": b"x", "NUMBER": b"x", "MODE": b"xx", "OPAQUE": b"x" * 32}.get(flag.token)
            if wrong is not None:
                servers = [self.ours] if flag.letter == "E" else [self.ours, self.stock]
                for server in servers:
                    answer = server.ask(b"mg %s %s\r\n" % (KEY, flag.letter.encode() + wrong))
                    self.assertEqual(answer, f"CLIENT_ERROR {flag.wrong}\r\n".encode(), flag.letter)


if __name__ == "__main__":
    unittest.main()
