# SPDX-License-Identifier: Apache-2.0
"""Streams of commands, one connection each: every line of the specification, right and wrong."""

LATER = {(b"E", command) for command in (b"mg", b"ms", b"md", b"ma")} | {(b"x", command) for command in (b"mg", b"ms", b"md", b"ma")} | {
    (b"s", b"ms"), (b"N", b"ms")}  # flags that memcached 1.6.18 does not have, or not for this command


def _value(length, byte=b"x"):
    return byte * length + b"\r\n"


def _storage():
    for command in (b"set", b"add", b"replace", b"append", b"prepend"):
        yield command + b" a 5 0 3\r\nabc\r\nget a\r\n"
        yield command + b" a 5 0 3 noreply\r\nabc\r\nget a\r\n"
        yield command + b" a 5 0 3 other\r\nabc\r\nget a\r\n"
        for words in (b"", b" a", b" a 0", b" a 0 0", b" a x 0 1", b" a 0 x 1", b" a 0 0 x", b" a 0 0 -1", b" a -1 0 1",
                      b" a 0 0 2147483647", b" a 0 0 1 noreply noreply", b" " + b"k" * 251 + b" 0 0 1", b" a x 0 1 noreply"):
            yield command + words + b"\r\nb\r\n"
        yield command + b" zz 0 0 1\r\nb\r\nget zz\r\ndelete zz\r\n"
        yield command + b" a 0 0 3\r\nabcdef\r\nget a\r\n"
        yield command + b" a 0 0 0\r\n\r\nget a\r\n"
        yield command + b" a 0 -1 1\r\nb\r\nget a\r\n"
        yield command + b" " + b"k" * 250 + b" 0 0 1\r\nb\r\nget " + b"k" * 250 + b"\r\n"
        yield command + b" big 0 0 1048577\r\n" + _value(1048577) + b"get big\r\n"
        yield command + b" big 0 0 1048577 noreply\r\n" + _value(1048577) + b"get big\r\n"
        yield command + b" mid 1 0 300000\r\n" + _value(300000) + b"mg mid s f\r\ndelete mid\r\n"
        yield command + b" a 0 99999999999 1\r\nb\r\nget a\r\n"
        yield command + b" a 4294967295 0 1\r\nb\r\nget a\r\n" + command + b" a 4294967297 0 1\r\nb\r\nget a\r\n"
    yield b"set a 0 0 1\r\nb\r\ncas a 0 0 1 x\r\nc\r\n"
    yield b"cas a 0 0 1\r\nb\r\n"
    yield b"set a 0 0 1\r\nb\r\ncas a 0 0 1 18446744073709551615\r\nc\r\ncas a 0 0 1 0\r\nc\r\nget a\r\n"
    yield b"cas zz 0 0 1 1\r\nb\r\ncas zz 0 0 1 1 noreply\r\nb\r\nmn\r\n"
    yield b"set b 0 0 1048000\r\n" + _value(1048000) + b"append b 0 0 5000\r\n" + _value(5000) + b"mg b s\r\ndelete b\r\n"


def _retrieval():
    yield b"set a 1 0 1\r\nA\r\nset b 2 0 0\r\n\r\nget a b zz a\r\ngets zz\r\nget " + b"a " * 200 + b"\r\n"
    for command in (b"get", b"gets", b"bget", b"GET", b" get"):
        yield command + b"\r\n" + command + b" \r\n" + command + b" zz\r\n" + command + b" " + b"k" * 251 + b"\r\n"
        yield command + b" a " + b"k" * 251 + b"\r\n" + command + b"  a   b \r\n" + command + b" a\0b\r\n"
    for command in (b"gat", b"gats"):
        for words in (b"", b" 10", b" x a", b" 100 zz", b" -1 a", b" 0 " + b"k" * 251, b" 100 zz " + b"k" * 251):
            yield command + words + b"\r\n"
    yield b"set a 1 0 1\r\nA\r\ngat 100 a zz a\r\nmg a t\r\ngat 0 a\r\nmg a t\r\ngat -1 a\r\nget a\r\n"
    yield b"get " + b"key " * 1500 + b"\r\n"
    yield b"get" + b" " * 1000 + b"a\r\n"


def _too_large():
    for command in (b"set", b"add", b"replace", b"append", b"prepend", b"cas"):
        number = b" 1" if command == b"cas" else b""
        for noreply in (b"", b" noreply"):
            for key in (b"a", b"none"):
                yield b"set a 3 0 1\r\n5\r\n%s %s 0 0 1048577%s%s\r\n" % (command, key, number, noreply) + _value(1048577) + \
                    b"get a none\r\nmn\r\n"
    yield b"set a 3 0 1000000\r\n" + _value(1000000) + b"append a 0 0 200000\r\n" + _value(200000) + b"mg a s\r\nmn\r\n"
    yield b"set a 3 0 1000000\r\n" + _value(1000000) + b"ms a 200000 MP\r\n" + _value(200000) + b"mg a s\r\nmn\r\n"


def _named_noreply():
    """Keys and words that are called noreply."""
    yield b"set noreply 0 0 1\r\n5\r\nget noreply\r\nincr noreply 1\r\ndecr noreply 1 noreply\r\ntouch noreply 100\r\n" \
        b"gat 0 noreply\r\nappend noreply 0 0 1\r\n6\r\nget noreply\r\ndelete noreply\r\nget noreply\r\nmn\r\n"
    for line in (b"delete noreply noreply", b"delete noreply 0", b"touch noreply", b"incr noreply", b"verbosity noreply",
                 b"verbosity noreply noreply", b"cache_memlimit noreply", b"version noreply", b"mg noreply", b"md noreply",
                 b"mn noreply", b"shutdown noreply", b"flush_all noreply noreply", b"gets noreply noreply", b"get"):
        yield line + b"\r\nmn\r\n"


def _others():
    yield b"set a 0 0 1\r\nb\r\ntouch a 100\r\nmg a t\r\ntouch a 0\r\nmg a t\r\ntouch a -1\r\nget a\r\ntouch a 1\r\n"
    for words in (b"", b" a", b" a x", b" a 10 foo", b" a 10 noreply", b" a 10 b c", b" a x noreply", b" " + b"k" * 251 + b" 1"):
        yield b"touch" + words + b"\r\nmn\r\n"
    for command in (b"incr", b"decr"):
        for words in (b"", b" n", b" n x", b" n -1", b" n 18446744073709551616", b" n 1 foo", b" n 1 noreply", b" n x noreply",
                      b" n 1 a b", b" zz 1", b" zz 1 noreply", b" " + b"k" * 251 + b" 1"):
            yield b"set n 0 0 2\r\n10\r\n" + command + words + b"\r\nget n\r\nmn\r\n"
        for value in (b"0", b"18446744073709551615", b"18446744073709551616", b"xx", b"", b" 10 ", b"+10", b"-10", b"10 x",
                      b"10x", b"00000000000000000000000010", b"1" * 60):
            yield b"set n 0 0 %d\r\n%s\r\n" % (len(value), value) + (command + b" n 1\r\nget n\r\n") * 2
        yield b"set n 3 0 1\r\n9\r\n" + command + b" n 18446744073709551615\r\nget n\r\n" + command + b" n 5\r\nget n\r\n"
    for words in (b"", b" a", b" a 0", b" a 1", b" a 0 noreply", b" a noreply", b" a x y", b" a 0 0", b" a 5 noreply", b" a b c d",
                  b" " + b"k" * 251, b" zz"):
        yield b"set a 0 0 1\r\nb\r\ndelete" + words + b"\r\nget a\r\nmn\r\n"
    for words in (b"", b" 0", b" -5", b" x", b" noreply", b" 0 noreply", b" 0 0", b" 0 foo", b" foo noreply", b" 0 0 0"):
        yield b"set a 0 0 1\r\nb\r\nflush_all" + words + b"\r\nget a\r\nset a 0 0 1\r\nc\r\nget a\r\nmn\r\n"
    for words in (b"", b" 0", b" x", b" 0 noreply", b" 0 foo", b" 0 1 2"):
        yield b"verbosity" + words + b"\r\nmn\r\n"
    for words in (b"", b" x", b" 1", b" 7", b" 8", b" 64", b" 64 noreply", b" 64 foo", b" 64 foo bar"):
        yield b"cache_memlimit" + words + b"\r\nmn\r\n"
    for line in (b"version", b"version x", b"quit", b"quit x", b"shutdown", b"", b"\n", b"foo", b"mn", b"mn x", b"stats foo",
                 b"stats reset", b"stats noreply", b"stats detail", b"stats detail foo", b"slabs", b"lru", b"lru_crawler", b"extstore",
                 b"get a\nget a", b"get a\r", b"x" * 1900, b"stats sizes_enable", b"stats sizes_disable", b"stats sizes"):
        yield line + b"\r\nmn\r\n"
    yield b"x" * 3000
    yield b"get a"


def _meta(later=False):
    letters = [bytes([c]) for c in range(33, 127)]
    common = [letter for letter in letters if letter != b"K"]  # pins items: memcached has no such flag
    tokens = (b"", b"50", b"x", b"-1") # as a TTL it may lose some seconds
    for command, value in ((b"mg n", b""), (b"ms n 2", b"11\r\n"), (b"md n", b""), (b"ma n", b"")):
        for letter in common:
            if not later and (letter, command[:2]) in LATER:
                continue
            for token in tokens:
                if command == b"ma n" and letter == b"T" and token != b"":
                    continue  # memcached 1.6.18 answers the new TTL and does not keep it; ours keeps it
                yield b"set n 7 0 2\r\n10\r\n%s %s%s k t\r\n%smg n v t s f h\r\nmn\r\n" % (command, letter, token, value)
                yield b"delete n\r\n%s %s%s\r\n%smg n v t s f\r\nmn\r\n" % (command, letter, token, value)
        for words in (b" v v", b" q q", b" O" + b"x" * 31, b" O" + b"x" * 32, b" " + b"v " * 16, b" " + b"v " * 17, b" " + b"v " * 18,
                      b" b", b" q", b" q k", b" k b O1", b" c q", b"  k "):
            yield b"set n 7 0 2\r\n10\r\n" + command + words + b"\r\n" + value + b"mn\r\n"
        for key in (b"YQ==", b"Zm9v", b"abc", b"!", b"=", b"YWFh" * 62, b"YWFh" * 63, b"k" * 251, b"k" * 250):
            for flags in (b" b k", b" b", b" k", b" b q k O1"):
                length = b" 2" if value else b""
                yield command[:3] + key + length + flags + b"\r\n" + value + b"mn\r\n"
        yield command[:2] + b"\r\nmn\r\n" + command[:3] + b"\r\nmn\r\n"
    for mode in letters:
        yield b"set a 3 0 1\r\n5\r\nms a 1 M%s k\r\n6\r\nmg a v f\r\nma a M%s v\r\ndelete a\r\nms a 1 M%s\r\n6\r\nget a\r\n" % (mode, mode, mode)
    for mode in (b"", b" MS", b" ME", b" MA", b" MP", b" MR", b" MR C1", b" MS q", b" I", b" MP q k O1"):
        yield b"set a 3 0 1\r\n5\r\nms a 1048577%s\r\n" % mode + _value(1048577) + b"get a\r\nms none 1048577%s\r\n" % mode + \
            _value(1048577) + b"mn\r\n"
    for words in (b"", b" a", b" a x", b" a -1", b" a S2", b" a 3", b" a 0 ", b" a 2147483647"):
        yield b"ms" + words + b"\r\nab\r\nmn\r\n"
    yield b"ms a 1048577\r\n" + _value(1048577) + b"mg a\r\nms a 1048577 q k O1\r\n" + _value(1048577) + b"mn\r\n"
    yield b"ms a 2 T100 F9\r\nab\r\nmg a t f s v\r\nmg a T200 t\r\nmg a t T50\r\nmg a t\r\nmg a T0 t\r\n"
    yield b"ms a 2\r\nab\r\nmd a I T30\r\nmg a v t\r\nmg a v\r\nmg a u v\r\nms a 2\r\ncd\r\nmg a v\r\n"
    yield b"ms a 2\r\nab\r\nmg a c\r\nms a 2 I C1\r\ncd\r\nmg a v t\r\nmg a v\r\nms a 2 C1\r\nef\r\nms zz 1 C1\r\nx\r\nms zz 1 MA C1\r\nx\r\n"
    yield b"mg nn N30 v t\r\nmg nn v t\r\nmg nn s v N30\r\nadd nn 0 0 1\r\nx\r\nms nn 1 ME\r\nx\r\nms nn 1\r\nx\r\nmg nn v\r\nmg nn2 N0 t\r\nmd nn2\r\nmd nn\r\n"
    yield b"ms a 2 T100\r\nab\r\nmg a R30\r\nmg a R200\r\nmg a R200\r\nmg a\r\nms a 2 T100\r\nab\r\nmg a R200 t\r\n"
    yield b"ma c N0 J7 v t\r\nma c v\r\nma c D5 v k\r\nma c MD D100 v\r\nma c q\r\nma c q v\r\nmg c v\r\nmd c\r\nma c N60 q\r\nma c t N60\r\nmd c\r\n"
    yield b"mg a h u\r\nset a 0 0 1\r\nb\r\nmg a h u\r\nmg a h u\r\nmg a h\r\nmg a h\r\nget a\r\nmg a h\r\n"
    yield b"me\r\nme a\r\nme zzzz\r\nme a b\r\nset a 0 0 1\r\nb\r\nme a\r\nme YQ== b\r\nme a q\r\n" + b"me " + b"k" * 251 + b"\r\n"


def _later():
    """Flags of memcached 1.6.38 together with others, and in each state of the item."""
    for before in (b"", b"ms a 2 T100 F7\r\n10\r\n", b"ms a 2 E500\r\n10\r\nmg a\r\n", b"ms YQ== 2 b\r\n10\r\n",
                   b"ms a 2 E500\r\n10\r\nmd a I\r\n", b"ms a 2 E500\r\n10\r\nmd a I\r\nmg a\r\n", b"ms a 2\r\nab\r\n"):
        for line in (b"ms a 2 %s E900 c s k O1\r\n11\r\n", b"ms a 2 %s E900 MA c s q\r\n11\r\n", b"ms a 2 %s MP N30 T60 F5 s\r\n11\r\n",
                     b"ms a 2 %s MA N30 I c s\r\n11\r\n", b"ms a 2 %s ME N30 E700 s\r\n11\r\n", b"ms a 2 %s MR N30 E0 c\r\n11\r\n",
                     b"ms YQ== 2 %s b k s MA N0 E901\r\n11\r\n", b"md a %s I E900 T30 k\r\n", b"md a %s E900 q\r\n",
                     b"ma a %s E900 c v t\r\n", b"ma a %s N30 J5 E900 c v t k\r\n", b"ma a %s MD E0 c\r\n",
                     b"mg a %s N30 E900 c v t s f h\r\n", b"mg a %s N30 R60 E900 c\r\n", b"mg a %s E900 c v\r\n"):
            for compare in (b"", b"C500", b"C499 I", b"C1000000", b"C0"):
                if line[:2] == b"mg" and b" v" in line and compare == b"C500":
                    continue  # no value: as memcached 1.6.40
                if b" I" in line and b"I" in compare or line[:2] == b"ma" and b"mg" in before or (b"MA" in line or b"MP" in line) and b" b" in line + before:
                    continue  # twice the same; what memcached changes elsewhere while an answer waits; a difference, as below
                yield b"delete a\r\n" + before + line % compare + b"mg a c v t s f h\r\nmg a c v k\r\nme a\r\nmn\r\n"
        for line in (b"md a x\r\n", b"md a x I\r\n", b"md a x T30 E900\r\n", b"md a x I T30 E0\r\n", b"md a x C500 q\r\n", b"md a x C1\r\n"):
            if b" b" not in before:  # docs/memcached.md, "Differences from memcached"
                yield b"delete a\r\n" + before + line + b"mg a c v t s f h\r\nmg a v k\r\nms a 1 MA\r\n1\r\nmg a v t\r\nma a v\r\nmn\r\n"
    yield b"ms a 2 E2\r\nab\r\nmg a v\r\nflush_all\r\nmg a v\r\nms a 2 E2\r\nab\r\nmg a v\r\nms b 2 E18446744073709551615\r\nab\r\n" \
        b"flush_all\r\nmg a v\r\nmg b v\r\nms b 2 c\r\nab\r\nmg b c v\r\nmn\r\n"
    yield b"ms a 2 E18446744073709551616\r\nab\r\nms a 2 E5 E6\r\nab\r\nmd a x x\r\nmg a v\r\nmn\r\n"
    yield b"ms a 1048577 MA N0 s\r\n" + _value(1048577) + b"mg a\r\nms a 1000000 MA N0 s\r\n" + _value(1000000) + \
        b"ms a 100000 MA N0 s c\r\n" + _value(100000) + b"mg a s\r\nmn\r\n"


def streams():
    """Those that memcached 1.6.18 and later ones answer alike."""
    return [*_storage(), *_retrieval(), *_too_large(), *_named_noreply(), *_others(), *_meta()]


def later():
    """Meta commands as memcached 1.6.38 answers them."""
    return [*_meta(later=True), *_later()]
