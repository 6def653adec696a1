#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Words of the command line that no command knows are refused before anything is built, installed or downloaded.
# check_COMMAND gets the words of that command.
# shellcheck disable=SC2154 # variables and functions of ./verbena

distance() { # $1, $2: words. Prints how many letters must be put, taken away, changed or swapped to come from one to the other
    local a=$1 b=$2 i j cost best before=() row=() next=()
    for ((j = 0; j <= ${#b}; j++)); do row[j]=$j; done
    for ((i = 1; i <= ${#a}; i++)); do
        next=("$i")
        for ((j = 1; j <= ${#b}; j++)); do
            cost=1
            [ "${a:i-1:1}" != "${b:j-1:1}" ] || cost=0
            best=$((row[j - 1] + cost))
            ((row[j] + 1 >= best)) || best=$((row[j] + 1))
            ((next[j - 1] + 1 >= best)) || best=$((next[j - 1] + 1))
            if ((i > 1 && j > 1)) && [ "${a:i-2:2}" = "${b:j-1:1}${b:j-2:1}" ]; then
                ((before[j - 2] + 1 >= best)) || best=$((before[j - 2] + 1))
            fi
            next[j]=$best
        done
        before=("${row[@]}")
        row=("${next[@]}")
    done
    echo "${row[${#b}]}"
}

nearest() { # $1: a word; $2...: known ones. Prints the one that was meant, if one is near
    local word=$1 known far best=3 found=
    shift
    for known in "$@"; do
        far=$(distance "$word" "$known")
        if ((far < best && far < ${#word})); then best=$far found=$known; fi
    done
    echo "$found"
}

refuse() { # $1: what is wrong; $2: the word; $3...: those that there are
    local near
    near=$(nearest "$2" "${@:3}")
    [ $# -gt 30 ] || die "$1 '$2'; ${near:+did you mean $near? }there are: ${*:3}"
    die "$1 '$2'; ${near:+did you mean $near? }'./verbena ${1%%:*} list' shows all"
}

one_of() { # $1: what is wrong with another; $2: the word; $3...: those that there are
    local known
    for known in "${@:3}"; do
        [ "$2" != "$known" ] || return 0
    done
    refuse "$@"
}

options_of() { # $1: a command. Prints the options that its help names
    usage "$1" | grep -oE -- '--[a-z][a-z-]*' | sort -u
}

check_options() { # $1: a command; $2...: words: each option, up to '--', is one that its help names
    local word known command=$1
    shift
    mapfile -t known < <(options_of "$command")
    for word in "$@"; do
        [ "$word" != -- ] || return 0
        [[ $word != --* ]] || one_of "$command: unknown option" "${word%%=*}" "${known[@]}"
    done
}

check_demo() {
    local known options=(--sf --minutes) name=demo
    mapfile -t known < <(declare -F | sed -n 's/^declare -f demo_//p')
    case ${1:-} in
    '' | -*) ;;
    *) one_of "demo: unknown demonstration" "$1" "${known[@]}" && name="demo $1" options=(--minutes) && shift ;;
    esac
    while [ $# != 0 ]; do
        [[ $1 = -* ]] || die "$name: takes options alone, not '$1': ${options[*]}"
        one_of "$name: unknown option" "${1%%=*}" "${options[@]}"
        [[ $1 != *=* ]] || set -- "${1%%=*}" "${1#*=}" "${@:2}"
        [[ ${2:-} =~ ^[0-9]*[.]?[0-9]+$ ]] || die "$name: $1 needs a number, not '${2:-}'"
        shift 2
    done
}

check_build() {
    [ $# = 0 ] || one_of "build: unknown part" "$1" native memcached mpi shmem spark hadoop hbase aarch64 all
    [ $# -lt 2 ] || die "build: takes one part, not '$*'; without a part it builds all"
}

fuzz_targets() { basename -a -s .c "$ROOT"/{native-core,memcached-rdma}/tests/fuzz/fuzz_*.c | sed 's/^fuzz_//'; }

check_fuzz() {
    local known
    mapfile -t known < <(fuzz_targets)
    case ${1:-} in
    [a-z]*) one_of "fuzz: unknown target" "$1" "${known[@]}" && shift ;;
    esac
    case ${1:-} in '') ;; *[!0-9]* | 0) die "fuzz: '$1' is not a number of minutes" ;; esac
    [ $# -lt 2 ] || die "fuzz: takes one target and a number of minutes, not '$*' more"
}

check_bench() { # rows stand in Python, which a fresh machine may not have yet
    local known
    check_options bench "$@"
    case ${1:-list} in list) return ;; -*) die "bench: the row comes first: ./verbena bench ROW $*" ;; esac
    mapfile -t known < <(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/ohb "$PYTHON" -m driver.names "$1" 2>/dev/null)
    [ "${#known[@]}" = 0 ] || refuse "bench: unknown row or group" "$1" "${known[@]}"
}

check_doctor() {
    case ${1:-} in '' | -*) ;; *) one_of "doctor: unknown system" "$1" spark hadoop hbase memcached mpi ;; esac
    case ${1:-} in
    hadoop) [ $# = 1 ] || die "doctor hadoop: takes no more words, not '${*:2}'" ;;
    memcached) [ $# -lt 3 ] || die "doctor memcached: takes one server, not '${*:2}'" ;;
    esac
}

check_guest() { # as tests/guest/run.py reads them: options, then the command
    while [ $# != 0 ]; do
        case $1 in
        --check) return ;;
        --) shift && break ;;
        --limit | --memory | --cpus | --rails | --netem | --path) shift $(($# > 1 ? 2 : 1)) ;;
        --pair | --*=*) shift ;;
        --*) refuse "guest: unknown option" "$1" --pair --limit --memory --cpus --rails --netem --path --check ;;
        *) break ;;
        esac
    done
    [ $# != 0 ] || die "guest: no command; './verbena guest -- vbn-info' runs one in a virtual machine, --help has the options"
}

check_spark() { # anything else is an argument of spark-submit: an option, or a file
    case ${1:-} in '' | -* | *[./:]*) ;; *) [ -e "$1" ] || one_of "spark: unknown program" "$1" submit shell sql pyspark ;; esac
}

check_cluster() { # $1: hadoop or hbase; $2: its commands; $3...: words
    local known system=$1
    read -ra known <<<"$2"
    [ -n "${3:-}" ] || die "$system: give a command: $2"
    one_of "$system: unknown command" "$3" "${known[@]}"
    case $3 in
    start) check_options "$system" "${@:4}" ;;
    stop | status) [ $# = 3 ] || die "$system $3: takes no more words, not '${*:4}'" ;;
    esac
}

check_hadoop() { check_cluster hadoop "start stop status run" "$@"; }
check_hbase() { check_cluster hbase "start stop status console" "$@"; }

check_batch() {
    [ $# != 0 ] || die "batch: give a command: run start status save stop"
    one_of "batch: unknown command" "$1" run start status save stop
}

check_mpiexec() { [ $# != 0 ] || die "mpiexec: no program; './verbena mpiexec -n 4 ./ring' starts one, --help has the options"; }
check_oshrun() { [ $# != 0 ] || die "oshrun: no program; './verbena oshrun -n 4 ./ring' starts one, --help has the options"; }
check_clean() { [ $# = 0 ] || die "clean: takes no words, not '$*'; it removes all build products"; }
check_packages() { [ $# = 0 ] || one_of "packages: unknown option" "$1" --missing; }

check_words() { # $1: a command; $2...: its words
    if declare -F "check_$1" >/dev/null; then "check_$1" "${@:2}"; fi
}
