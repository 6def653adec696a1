#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public sentences: pages, help texts, READMEs, public headers, and errors, log lines and other texts of the code (texts.py).
Counts those with more than 30 words, and those that use "what", "who" or "whoever" in place of a noun. Both counts may only fall.

usage: prose.py [ROOT]     prints each of these sentences with its file and line, and the counts
"""
import pathlib
import re
import sys

import texts
import tree

WORDS = 30
MOST_LONG = 10
MOST_BARE = 4
HEADERS = {"native-core/include/vbn/vbn.h", "memcached-rdma/client/include/verbena/mc.h"}
LIST_ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!\.\.)(?<=[.!?])[)\"]?\s+|(?<=[.!?]\))\s+")
# "who" behind a noun begins a relative clause, which is good; behind these words, or first, it stands for a noun
BEFORE_WHO = ["and", "or", "say", "says", "that", "to", "of", "by", "for", "is", "know", "knows", "see", "show", "shows",
              "tell", "tells", "name", "names", "ask", "asks", "in", "with", "from", "than", "but", "on", "if", "where",
              "decide", "decides"]
BARE = re.compile(rf"\b(what|whatever|whoever)\b|(^|(?<=[;:(] )|\b({'|'.join(BEFORE_WHO)}) )who\b", re.IGNORECASE)


def is_public(path):
    name = str(path)
    return name in HEADERS or path.name == "README.md" or name in {"CONTRIBUTING.md", "SECURITY.md"} \
        or path.parts[0] == "docs" and path.suffix in {".md", ".txt"}


def header_paragraphs(text):
    """Yields (line, text): the paragraphs of a header's comments."""
    for comment in re.finditer(r"/\*.*?\*/", text, re.DOTALL):
        line = text.count("\n", 0, comment.start()) + 1
        bare = re.sub(r"(?m)^\s*\*?[ \t]?", "", comment[0].strip("/*"))
        yield from plain_paragraphs(bare, line)


def plain_paragraphs(text, line=1):
    for part in re.split(r"(\n\s*\n)", text):
        if part.strip():
            yield line, part
        line += part.count("\n")


def help_paragraphs(text):
    """As plain_paragraphs, of help texts: a line of a list, which is indented, and one of usage stand alone."""
    for first, part in plain_paragraphs(text):
        for line, row in enumerate(part.split("\n"), first):
            if row.startswith((" ", "usage")):
                yield line, row
        yield first, " ".join(row for row in part.split("\n") if not row.startswith((" ", "usage")))


def page_paragraphs(text):
    """Yields (line, text): paragraphs, items of lists, headings and the parts of table cells; code is left out."""
    part, start, fenced, code = [], 0, False, False
    for line, raw in enumerate(text.split("\n") + [""], 1):
        words = raw.strip()
        is_fence = words.startswith("```")
        code = not part and raw.startswith("    ") and (code or not LIST_ITEM.match(words))
        if part and (not words or is_fence or words[0] in "#|<" or LIST_ITEM.match(words)):
            yield start, " ".join(part)
            part = []
        fenced ^= is_fence
        if not words or fenced or is_fence or code or words[0] == "<":
            continue
        if words[0] in "#|":
            yield from ((line, cell) for cell in re.split(r"(?<!\\)\||;| · ", words.strip("|# ")))
            continue
        start = start if part else line
        part.append(LIST_ITEM.sub("", words, count=1) if not part else words)


def sentences(path, text):
    """Yields (line, sentence); code and a quoted word count as one word, a link as its text."""
    read = {".md": page_paragraphs, ".h": header_paragraphs, ".txt": help_paragraphs}[path.suffix]
    for line, part in read(text):
        part = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`|\"\w+\"", "CODE", part)).replace("*", "")
        yield from ((line, " ".join(sentence.split())) for sentence in SENTENCE_END.split(part) if len(sentence.split()) > 1)


def all_sentences(root, files):
    """Yields (path, line, sentence) of public files and of texts in the code."""
    for path in files:
        if is_public(path):
            yield from ((path, *found) for found in sentences(path, (root / path).read_text()))
        if texts.is_read(path):
            for line, text in texts.texts(path, (root / path).read_text()):
                yield from ((path, line, " ".join(sentence.split())) for sentence in SENTENCE_END.split(text))


def found(root, files):
    """Two lists of lines FILE:LINE: SENTENCE: the long ones and the bare ones."""
    long, bare = [], []
    for path, line, sentence in all_sentences(root, files):
        if sum(1 for word in sentence.split() if re.search(r"\w", word)) > WORDS:
            long.append(f"{path}:{line}: {sentence}")
        if BARE.search(sentence):
            bare.append(f"{path}:{line}: {sentence}")
    return long, bare


def check(root, files, most_long=MOST_LONG, most_bare=MOST_BARE):
    """Lines for each count above its limit, with the sentences."""
    long, bare = found(root, files)
    print(f"    {len(long)} sentences of more than {WORDS} words (at most {most_long}), {len(bare)} with a pronoun as noun "
          f"(at most {most_bare})")
    return [line for lines, most, fault in ((long, most_long, f"more than {WORDS} words"), (bare, most_bare, "a pronoun as noun"))
            if len(lines) > most
            for line in [f"{len(lines)} sentences with {fault}, {most} are allowed: divide or reword one", *lines]]


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    long, bare = found(root, tree.files(root))
    print(*(f"long: {line}" for line in long), *(f"bare: {line}" for line in bare), sep="\n")
    print(f"{len(long)} long, {len(bare)} bare")


if __name__ == "__main__":
    main(sys.argv[1:])
