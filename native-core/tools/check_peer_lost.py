#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a text that ends a peer or a connection does not stand in docs/peer-lost.md, with its cause and its cure.

Usage: check_peer_lost.py REPOSITORY [--list]. The texts are the string literals in calls of the functions that end peers (ENDERS),
in err_set of the files that decide about wire-up (DECIDERS), and in the functions that find words for a cause (WORDS). Of a format
the longest piece between its directives has to stand on the page.
"""
import pathlib
import re
import sys

PAGE = "docs/peer-lost.md"
ENDERS = ("link_peer_end", "link_peer_end_later", "link_peer_broke", "link_lane_broke", "link_lane_fail", "link_fail",
          "link_lane_lose", "proto_blame", "shm_ep_fail", "tcp_ep_fail", "rc_ep_fail",
          "fail_all")
DECIDERS = ("link/link_auth.c", "link/lane/wireup.c", "link/link_wire.c", "tl/shm/shm_wireup.c", "tl/verbs/verbs_route.c",
            "proto/proto_wire.c")
WORDS = {"link/lane/timeout.c": ("link_wireup_expired",), "link/lane/reopen.c": ("give_up",), "link/flow/arq.c": ("given_up",),
         "tl/rc/rc_send.c": ("cause_of",), "tl/rc/rc_cm.c": ("why_refused", "why_failed"),
         "tl/tcp/tcp_rx.c": ("lost",), "tl/tcp/tcp_connect.c": ("cure",), "tl/verbs/verbs_change.c": ("say",)}
LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')
DIRECTIVE = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j|t)?[a-zA-Z%]")
SHORTEST = 8  # pieces below that are punctuation


def arguments(text, start):
    """The text between the parenthesis that opens at `start` and the one that closes it."""
    depth, at = 0, start
    while at < len(text):
        if text[at] == '"':
            at = LITERALS.match(text, at).end()
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
        if depth == 0:
            return text[start:at]
    return text[start:]


def bodies(text, names):
    for name in names:
        match = re.search(rf"^[^\n;]*\b{name}\([^;{{]*\)\n\{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
        if match:
            yield match[1]


def literals(code):
    for match in LITERALS.finditer(re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)):
        yield "".join(part.replace('\\"', '"') for part in re.findall(r'"((?:[^"\\]|\\.)*)"', match[0]))


def texts(source):
    """Yields (file, text) for each text that may end a peer."""
    for path in sorted(source.rglob("*.c")):
        name = path.relative_to(source).as_posix()
        code = path.read_text(encoding="utf-8")
        calls = ENDERS + (("err_set",) if name in DECIDERS else ())
        places = [arguments(code, match.end() - 1)
                  for match in re.finditer(rf"(?<!void )\b(?:{'|'.join(calls)})\(", code)]
        for place in [*places, *bodies(code, WORDS.get(name, ()))]:
            for text in literals(place):
                yield name, text


def longest_piece(text):
    pieces = [re.sub(r"\s+", " ", piece).strip(" ,;:()=\"") for piece in DIRECTIVE.split(text)]
    return max(pieces, key=len)


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1])
    wanted = {}
    for name, text in texts(root / "native-core/src"):
        piece = longest_piece(text)
        if len(piece) >= SHORTEST:
            wanted.setdefault(piece, (name, text))
    if "--list" in sys.argv:
        for piece, (name, text) in wanted.items():
            print(f"{name}: {text}")
    page = re.sub(r"\s+", " ", (root / PAGE).read_text(encoding="utf-8")) if (root / PAGE).is_file() else ""
    missing = [(name, text) for piece, (name, text) in wanted.items() if piece not in page]
    for name, text in missing:
        print(f'{PAGE}: does not explain "{text}" of {name}: add its cause and its cure', file=sys.stderr)
    print(f"texts that end a peer: {len(wanted)}, not in {PAGE}: {len(missing)}")
    return 1 if missing or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
