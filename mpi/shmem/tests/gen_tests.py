#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test programs from the tables of mpi/shmem/api: every function is called for each of its types, with checked results.

usage: gen_tests.py FOLDER   writes FOLDER/{every_<group>.c,links.c,generics.c,overloads.cc}
       gen_tests.py --counts  how many functions are called with checked results, and how many are not

Of a row's `test` BODIES has the statements. T is the C type, F the function (its context is added), N its TYPENAME; s is the
symmetric variable (in the heap or in static data, in turns), sum(k) etc. are what the PEs together give.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gen"))
import tables  # noqa: E402

FILLED = "fill(source, ROOM, me); memset(s, 0, ROOM); shmem_barrier_all(); "
FILLED_HERE = "fill(s, ROOM, me); memset(copy, 0, ROOM); shmem_barrier_all(); "
START = "*(T *)s = {}; shmem_barrier_all(); "
FOUR = "T *v = (T *)s; memset(s, 0, ROOM); shmem_barrier_all(); "
PUT_ALL = "for (int i = 0; i < 4; i++) shmem_N_p(&v[i], (T)(3 + {}), right); shmem_quiet(); "
VALUES = "const T values[4] = {3, 4, 5, 6}; "
PUT_ONE = "shmem_N_p(&v[2], (T){}, right); shmem_quiet(); "
BODIES = {
    "put": FILLED + "F(s, source, 5, right); complete(); GOOD(is_filled(s, 5 * sizeof(T), left)); GOOD(is_zero(s, 5, sizeof(T)));",
    "get": FILLED_HERE + "F(copy, s, 5, right); complete(); GOOD(is_filled(copy, 5 * sizeof(T), right)); GOOD(is_zero(copy, 5, sizeof(T)));",
    "p": START.format("(T)0") + "F((T *)s, (T)(me + 1), right); complete(); GOOD(*(T *)s == (T)(left + 1));",
    "g": START.format("(T)(me + 3)") + "GOOD(F((T *)s, right) == (T)(right + 3));",
    "iput": FILLED + "F(s, source, 2, 3, 4, right); complete(); fill(copy, ROOM, left); "
            "for (size_t i = 0; i < 4; i++) { GOOD(is_piece(s, 2 * i, copy, 3 * i, sizeof(T))); GOOD(is_zero(s, 2 * i + 1, sizeof(T))); }",
    "iget": FILLED_HERE + "F(copy, s, 2, 3, 4, right); fill(source, ROOM, right); "
            "for (size_t i = 0; i < 4; i++) { GOOD(is_piece(copy, 2 * i, source, 3 * i, sizeof(T))); GOOD(is_zero(copy, 2 * i + 1, sizeof(T))); }",
    "ibput": FILLED + "F(s, source, 3, 4, 2, 3, right); complete(); fill(copy, ROOM, left); "
             "for (size_t i = 0; i < 3; i++) { GOOD(memcmp(s + 3 * i * sizeof(T), copy + 4 * i * sizeof(T), 2 * sizeof(T)) == 0); "
             "GOOD(is_zero(s, 3 * i + 2, sizeof(T))); }",
    "ibget": FILLED_HERE + "F(copy, s, 3, 4, 2, 3, right); fill(source, ROOM, right); "
             "for (size_t i = 0; i < 3; i++) { GOOD(memcmp(copy + 3 * i * sizeof(T), source + 4 * i * sizeof(T), 2 * sizeof(T)) == 0); "
             "GOOD(is_zero(copy, 3 * i + 2, sizeof(T))); }",
    "fetch": START.format("(T)(me + 5)") + "GOOD(F((T *)s, right) == (T)(right + 5));",
    "set": START.format("(T)0") + "F((T *)s, (T)(me + 9), right); complete(); GOOD(*(T *)s == (T)(left + 9));",
    "swap": START.format("(T)(me + 1)") + "GOOD(F((T *)s, (T)(me + 50), right) == (T)(right + 1)); complete(); GOOD(*(T *)s == (T)(left + 50));",
    "compare_swap": START.format("(T)me") + "GOOD(F((T *)s, (T)right, (T)(me + 20), right) == (T)right); "
                    "GOOD(F((T *)s, (T)right, (T)99, right) == (T)(me + 20)); complete(); GOOD(*(T *)s == (T)(left + 20));",
    "inc": START.format("(T)7") + "F((T *)s, 0); complete(); GOOD(*(T *)s == (T)(7 + (me == 0 ? size : 0)));",
    "fetch_inc": START.format("(T)7") + "const T old = F((T *)s, 0); GOOD(old >= (T)7 && old < (T)(7 + size)); complete(); "
                 "GOOD(*(T *)s == (T)(7 + (me == 0 ? size : 0)));",
    "add": START.format("(T)7") + "F((T *)s, (T)(me + 1), 0); complete(); GOOD(*(T *)s == (T)(7 + (me == 0 ? size * (size + 1) / 2 : 0)));",
    "fetch_add": START.format("(T)7") + "const T old = F((T *)s, (T)(me + 1), 0); GOOD(old >= (T)7 && old < (T)(7 + size * (size + 1) / 2)); "
                 "complete(); GOOD(*(T *)s == (T)(7 + (me == 0 ? size * (size + 1) / 2 : 0)));",
    "and": START.format("(T)0xffff") + "F((T *)s, (T)~((T)1 << me), 0); complete(); GOOD(*(T *)s == (T)(me == 0 ? 0xffff & ~((1 << size) - 1) : 0xffff));",
    "or": START.format("(T)0") + "F((T *)s, (T)1 << me, 0); complete(); GOOD(*(T *)s == (T)(me == 0 ? (1 << size) - 1 : 0));",
    "xor": START.format("(T)0xffff") + "F((T *)s, (T)1 << me, 0); complete(); GOOD(*(T *)s == (T)(me == 0 ? 0xffff & ~((1 << size) - 1) : 0xffff));",
    "fetch_and": START.format("(T)0xffff") + "GOOD((F((T *)s, (T)~((T)1 << me), 0) & (T)1 << me) != 0); complete(); "
                 "GOOD(*(T *)s == (T)(me == 0 ? 0xffff & ~((1 << size) - 1) : 0xffff));",
    "fetch_or": START.format("(T)0") + "GOOD((F((T *)s, (T)1 << me, 0) & (T)1 << me) == 0); complete(); GOOD(*(T *)s == (T)(me == 0 ? (1 << size) - 1 : 0));",
    "fetch_xor": START.format("(T)0xffff") + "GOOD((F((T *)s, (T)1 << me, 0) & (T)1 << me) != 0); complete(); "
                 "GOOD(*(T *)s == (T)(me == 0 ? 0xffff & ~((1 << size) - 1) : 0xffff));",
    "put_signal": FILLED + "signals[0] = 0; signals[1] = 1; shmem_barrier_all(); F(s, source, 5, &signals[0], 7, SHMEM_SIGNAL_SET, right); "
                  "GOOD(shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 7) == 7); GOOD(is_filled(s, 5 * sizeof(T), left)); "
                  "GOOD(is_zero(s, 5, sizeof(T))); complete(); F(s, source, 0, &signals[1], 4, SHMEM_SIGNAL_ADD, 0); complete(); "
                  "GOOD(shmem_signal_fetch(&signals[1]) == (uint64_t)(1 + (me == 0 ? 4 * size : 0)));",
    "wait_until": START.format("(T)0") + "shmem_N_p((T *)s, (T)3, right); shmem_quiet(); F((T *)s, SHMEM_CMP_GE, (T)3); F((T *)s, SHMEM_CMP_EQ, (T)3); "
                  "F((T *)s, SHMEM_CMP_NE, (T)0); F((T *)s, SHMEM_CMP_GT, (T)2); F((T *)s, SHMEM_CMP_LT, (T)4); F((T *)s, SHMEM_CMP_LE, (T)3);",
    "test": START.format("(T)0") + "GOOD(!F((T *)s, SHMEM_CMP_LT, (T)0)); GOOD(F((T *)s, SHMEM_CMP_LE, (T)3)); shmem_N_p((T *)s, (T)3, right); shmem_quiet(); "
            "while (!F((T *)s, SHMEM_CMP_EQ, (T)3)) { } GOOD(!F((T *)s, SHMEM_CMP_NE, (T)3) && !F((T *)s, SHMEM_CMP_GT, (T)3) && F((T *)s, SHMEM_CMP_GE, (T)3));",
    "wait_until_all": FOUR + PUT_ALL.format("0") + "F(v, 4, NULL, SHMEM_CMP_EQ, (T)3); const int left_out[5] = {0, 0, 0, 0, 1}; F(v, 5, left_out, SHMEM_CMP_EQ, (T)3);",
    "wait_until_all_vector": FOUR + VALUES + PUT_ALL.format("i") + "F(v, 4, NULL, SHMEM_CMP_EQ, values); for (int i = 0; i < 4; i++) GOOD(v[i] == values[i]);",
    "wait_until_any": FOUR + PUT_ONE.format("3") + "GOOD(F(v, 4, NULL, SHMEM_CMP_EQ, (T)3) == 2); const int none[4] = {1, 1, 1, 1}; GOOD(F(v, 4, none, SHMEM_CMP_EQ, (T)3) == SIZE_MAX);",
    "wait_until_any_vector": FOUR + VALUES + PUT_ONE.format("5") + "GOOD(F(v, 4, NULL, SHMEM_CMP_EQ, values) == 2); GOOD(F(v, 0, NULL, SHMEM_CMP_EQ, values) == SIZE_MAX);",
    "wait_until_some": FOUR + PUT_ALL.format("0") + "int seen[4] = {0}; for (size_t all = 0; all < 4;) { size_t found[4]; const size_t n = F(v, 4, found, seen, SHMEM_CMP_EQ, (T)3); "
                       "GOOD(n > 0); all += n; for (size_t i = 0; i < n; i++) seen[found[i]]++; } for (int i = 0; i < 4; i++) GOOD(seen[i] == 1);",
    "wait_until_some_vector": FOUR + VALUES + PUT_ALL.format("i") + "int seen[4] = {0}; for (size_t all = 0; all < 4;) { size_t found[4]; const size_t n = F(v, 4, found, seen, SHMEM_CMP_EQ, values); "
                              "GOOD(n > 0); all += n; for (size_t i = 0; i < n; i++) seen[found[i]]++; } for (int i = 0; i < 4; i++) GOOD(seen[i] == 1);",
    "test_all": FOUR + "GOOD(!F(v, 4, NULL, SHMEM_CMP_GT, (T)5)); " + PUT_ALL.format("0") + "while (!F(v, 4, NULL, SHMEM_CMP_EQ, (T)3)) { }",
    "test_all_vector": FOUR + VALUES + "GOOD(!F(v, 4, NULL, SHMEM_CMP_GT, values)); " + PUT_ALL.format("i") + "while (!F(v, 4, NULL, SHMEM_CMP_EQ, values)) { }",
    "test_any": FOUR + "GOOD(F(v, 4, NULL, SHMEM_CMP_GT, (T)5) == SIZE_MAX); " + PUT_ONE.format("3") + "size_t found; while ((found = F(v, 4, NULL, SHMEM_CMP_EQ, (T)3)) == SIZE_MAX) { } GOOD(found == 2);",
    "test_any_vector": FOUR + VALUES + "GOOD(F(v, 4, NULL, SHMEM_CMP_GT, values) == SIZE_MAX); " + PUT_ONE.format("5") + "size_t found; while ((found = F(v, 4, NULL, SHMEM_CMP_EQ, values)) == SIZE_MAX) { } GOOD(found == 2);",
    "test_some": FOUR + "size_t found[4]; GOOD(F(v, 4, found, NULL, SHMEM_CMP_GT, (T)5) == 0); " + PUT_ONE.format("3") + "size_t n; while ((n = F(v, 4, found, NULL, SHMEM_CMP_EQ, (T)3)) == 0) { } GOOD(n == 1 && found[0] == 2);",
    "test_some_vector": FOUR + VALUES + "size_t found[4]; GOOD(F(v, 4, found, NULL, SHMEM_CMP_GT, values) == 0); " + PUT_ONE.format("5") + "size_t n; while ((n = F(v, 4, found, NULL, SHMEM_CMP_EQ, values)) == 0) { } GOOD(n == 1 && found[0] == 2);",
    "broadcast": "for (int root = 0; root < size; root++) { " + FILLED + "GOOD(F(SHMEM_TEAM_WORLD, s, source, 5, root) == 0); GOOD(is_filled(s, 5 * sizeof(T), root)); "
                 "GOOD(is_zero(s, 5, sizeof(T))); shmem_barrier_all(); }",
    "collect": FILLED + "GOOD(F(SHMEM_TEAM_WORLD, s, source, (size_t)(me + 1)) == 0); size_t at = 0; for (int pe = 0; pe < size; at += (size_t)++pe) "
               "GOOD(is_filled(s + at * sizeof(T), (size_t)(pe + 1) * sizeof(T), pe)); GOOD(is_zero(s, at, sizeof(T)));",
    "fcollect": FILLED + "GOOD(F(SHMEM_TEAM_WORLD, s, source, 5) == 0); for (int pe = 0; pe < size; pe++) GOOD(is_filled(s + (size_t)pe * 5 * sizeof(T), 5 * sizeof(T), pe)); "
                "GOOD(is_zero(s, 5 * (size_t)size, sizeof(T)));",
    "alltoall": FILLED + "GOOD(F(SHMEM_TEAM_WORLD, s, source, 3) == 0); for (int pe = 0; pe < size; pe++) { fill(copy, ROOM, pe); "
                "GOOD(memcmp(s + (size_t)pe * 3 * sizeof(T), copy + (size_t)me * 3 * sizeof(T), 3 * sizeof(T)) == 0); }",
    "alltoalls": FILLED + "GOOD(F(SHMEM_TEAM_WORLD, s, source, 2, 3, 2) == 0); for (int pe = 0; pe < size; pe++) { fill(copy, ROOM, pe); "
                 "for (size_t i = 0; i < 2; i++) { GOOD(is_piece(s, 2 * ((size_t)pe * 2 + i), copy, 3 * ((size_t)me * 2 + i), sizeof(T))); "
                 "GOOD(is_zero(s, 2 * ((size_t)pe * 2 + i) + 1, sizeof(T))); } }",
}
# What PE pe gives as element i, and how two are combined.
REDUCTIONS = {"and": ("(T)(0xf0 | 1 << (pe + i) % 4)", "all & one"), "or": ("(T)(1 << (pe + i) % 5)", "all | one"),
              "xor": ("(T)(pe * 5 + i)", "all ^ one"), "max": ("(T)((pe * 3 + i) % 5)", "one > all ? one : all"),
              "min": ("(T)(1 + (pe * 3 + i) % 5)", "one < all ? one : all"), "sum": ("(T)(pe + i)", "all + one"),
              "prod": ("(T)(1 + (pe + i) % 2)", "all * one")}


def given(text, pe, i):
    return re.sub(r"\bi\b", i, re.sub(r"\bpe\b", pe, text))


def reduction(op, call, first):
    """Elements 0 to 6, of the PEs from `first` of them on (an expression), or up to this one."""
    value, combined = REDUCTIONS[op]
    return (f"T *in = (T *)s; T *out = (T *)(s + ROOM / 2); for (int i = 0; i < 7; i++) {{ in[i] = {given(value, 'me', 'i')}; out[i] = (T)0; }} "
            f"shmem_barrier_all(); {call} for (int i = 0; i < 7; i++) {{ T all = {given(value, '0', 'i')}; "
            f"for (int pe = 1; pe < {first}; pe++) {{ const T one = {value}; all = (T)({combined}); }} GOOD(out[i] == all); }}")


EXCLUSIVE = ("T *in = (T *)s; T *out = (T *)(s + ROOM / 2); for (int i = 0; i < 7; i++) in[i] = (T)(me + i); shmem_barrier_all(); "
             "GOOD(F(SHMEM_TEAM_WORLD, out, in, 7) == 0); for (int i = 0; i < 7; i++) { T all = (T)0; for (int pe = 0; pe < me; pe++) all = (T)(all + (T)(pe + i)); GOOD(out[i] == all); }")


def body(function):
    test = function.row.get("test")
    to_all = re.fullmatch(r"shmem_TYPE_(\w+)_to_all", function.row["form"])
    if to_all:
        return reduction(to_all.group(1), "F(out, in, 7, 0, 0, size, (T *)copy, sync_words);", "size")
    if test is None:
        return None
    if test.endswith("_reduce"):
        return reduction(test[:-len("_reduce")], "GOOD(F(SHMEM_TEAM_WORLD, out, in, 7) == 0);", "size")
    if test == "sum_inscan":
        return reduction("sum", "GOOD(F(SHMEM_TEAM_WORLD, out, in, 7) == 0);", "me + 1")
    if test == "sum_exscan":
        return EXCLUSIVE
    if test.endswith("_nbi") and test not in BODIES:
        return nbi(BODIES[test[:-len("_nbi")]])
    return BODIES[test]


def nbi(text):
    """The value comes by the first argument, and is there after a quiet."""
    count = text.count("F(")
    for i in range(count):
        start = text.index("F(")
        depth = 0
        for end in range(start + 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        statement = max(text.rfind(";", 0, start), text.rfind("}", 0, start)) + 1
        call = f" T old{i}; P(&old{i}, {text[start + 2:end]}); shmem_ctx_quiet(ctx); shmem_quiet();"
        text = text[:statement] + call + text[statement:start] + f"old{i}" + text[end + 1:]
    return text.replace("P(", "F(")


def ctype(function):
    if function.type:
        return tables.TYPES[function.type]["c"]
    return {0: "unsigned char", 8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t", 128: "block128_t"}[function.size]


def case(function, number):
    text = body(function)
    text = re.sub(r"\bF\(", f"{function.name}({'ctx, ' if function.has_ctx else ''}", text)
    if re.search(r"_(put|get)", function.name) and function.type:  # these take typed pointers
        text = re.sub(rf"({function.name}\((?:ctx, )?)(s|copy), (source|s),", r"\1(T *)\2, (const T *)\3,", text)
    if re.search(r"_(iput|iget|ibput|ibget|broadcast|collect|fcollect|alltoall|alltoalls)$", function.name) and function.type:
        text = re.sub(rf"({function.name}\((?:ctx, |SHMEM_TEAM_WORLD, )?)(s|copy), (source|s),", r"\1(T *)\2, (const T *)\3,", text)
    text = text.replace("shmem_N_p", f"shmem_{function.type}_p")
    text = re.sub(r"\bT\b", ctype(function), text)
    place = "in_heap" if number % 2 == 0 else "in_statics"
    return (f"static void test_{function.name}(void)\n{{\n    unsigned char *s = {place};\n    name = \"{function.name}\";\n    "
            + text + "\n    shmem_barrier_all();\n}\n")


HEAD = '#include "every.h"\n\n__attribute__((unused)) static long sync_words[1];\n'


def program(functions):
    cases = [case(function, i) for i, function in enumerate(functions)]
    calls = "".join(f"    test_{function.name}();\n" for function in functions)
    return tables.generated("Calls each function of the tables, with checked results.") + HEAD + "\n".join(cases) + \
        f"\nstatic void run(void)\n{{\n    (void)signals, (void)source, (void)copy, (void)in_statics;\n{calls}}}\n"


def links(functions):
    """Every name is there, behind both names."""
    rows = ",\n".join(f"    (any_t){one.name}, (any_t){one.profiling}" for one in functions)
    return tables.generated("The address of every function.") + f"""#define SHMEM_NO_GENERICS
#include <pshmem.h>

typedef void (*any_t)(void);
static const any_t all[] = {{
{rows}
}};

int main(void)
{{
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] == 0)
            return 1;
    return sizeof(all) / sizeof(all[0]) == {2 * len(functions)} ? 0 : 1;
}}
"""


def generic_call(function, number):
    """A function that calls by the C11 name with this type's arguments; its result has that type."""
    back = "" if function.returns == "void" else "return "
    return f"{function.returns} call_{number}({function.args});\n{function.returns} call_{number}({function.args})\n" \
           f"{{\n    {back}{function.generic}({', '.join(function.parameters)});\n}}\n"


def generics(functions):
    found = [one for group in tables.generics(functions).values() for one in group if one.name != one.generic]
    calls = "\n".join(generic_call(one, i) for i, one in enumerate(found))
    return tables.generated("Every generic name with every type: compiled, and run where that needs no other PE.") + \
        f"#include <shmem.h>\n\n{calls}\nint main(void)\n{{\n    return 0;\n}}\n"


def main():
    functions = tables.functions()
    written = [function for function in functions if function.body is not None]
    tested = [function for function in written if body(function) is not None]
    if sys.argv[1] == "--counts":
        print(f"OpenSHMEM functions called with checked results by programs of the tables: {len(tested)} of {len(written)}")
        return
    for group in dict.fromkeys(function.group for function in tested):
        tables.update(f"{sys.argv[1]}/every_{group}.c", program([one for one in tested if one.group == group]))
    tables.update(f"{sys.argv[1]}/links.c", links(functions))
    tables.update(f"{sys.argv[1]}/generics.c", generics(functions))
    tables.update(f"{sys.argv[1]}/overloads.cc", generics(functions))


if __name__ == "__main__":
    main()
