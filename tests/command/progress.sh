#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How a long and quiet command shows that it advances, how one of several waits, and how an interrupted one ends.
# shellcheck disable=SC2154 # variables and functions of ./verbena

WATCHER=

# Ctrl-C and its kind reach all that runs here. Subshells end without a word, the first process says the only line.
interrupted() {
    trap '' INT TERM HUP
    [ -z "$WATCHER" ] || kill "$WATCHER" 2>/dev/null || true
    [ "$BASHPID" != $$ ] || say "stopped by a signal; nothing is left running; the same command goes on from here" >&2
    exit 130
}

on_signals() { trap interrupted INT TERM HUP; } # for this shell: its subshells start without

advance_of() { # $1: a log. Prints n of m (Ninja's files, Maven's modules), else its last line
    local module step counts='s|.*\[([0-9]+)/([0-9]+)\]$|\1 of \2|'
    module=$(grep -aoE 'Building [^[]+\[[0-9]+/[0-9]+\]$' "$1" | tail -n 1 | sed -E "$counts; s/^/module /") || true
    step=$(tail -c 4096 "$1" | tr '\r' '\n' | grep -aoE '^\[[0-9]+/[0-9]+\]' | tail -n 1 | sed -E "$counts") || true
    if [ -z "$module$step" ]; then
        tail -c 4096 "$1" | tr '\r\t' '\n ' | grep -av '^ *$' | tail -n 1 | sed 's/^ *//' | cut -c 1-90 || true
        return
    fi
    printf '%s\n' "$module${module:+${step:+, }}$step"
}

watch_log() { # $1: what; $2: its log; $3: process. While that is there a line each 10 s, or 30 s where the output is no terminal
    local pause=30 began=$SECONDS next idle advance
    [ ! -t 1 ] || pause=10
    pause=${VERBENA_PROGRESS:-$pause}
    next=$pause
    exec {idle}<> <(:)
    while kill -0 "$3" 2>/dev/null; do
        read -rt 1 -u "$idle" _ || true # a second, without a process that would be left
        ((SECONDS - began >= next)) || continue
        advance=$(advance_of "$2")
        say "$1, $((SECONDS - began)) s${advance:+: $advance}"
        next=$((next + pause))
    done
}

watched() { # NAME LOG COMMAND...: output to LOG, and a line now and then of how far it is; gives the status
    local status=0
    on_signals
    : >"$2"
    watch_log "$1" "$2" "$BASHPID" 9>&- &
    WATCHER=$!
    (on_signals && "${@:3}") >"$2" 2>&1 || status=$? # a shell of its own: what is said of a signal is not for the log
    { kill "$WATCHER" && wait "$WATCHER"; } 2>/dev/null || true
    WATCHER=
    return "$status"
}

quiet() { # LOG-NAME COMMAND...: output to a log, shown when the command fails
    local log=$STATE/log/$1.log
    mkdir -p "$STATE/log"
    watched "$1" "$log" "${@:2}" || { tail -n 60 "$log" >&2; die "failed: ${*:2} (whole output: $log)"; }
}

alone() { # LOCK COMMAND...: one at a time of all that name this file, also in other clones
    if ! mkdir -p "$(dirname "$1")" 2>/dev/null || ! { : >>"$1"; } 2>/dev/null; then
        die "cannot write $1: another user has made it or its folder; use a clone of your own, and a VERBENA_CACHE of your own"
    fi
    (
        on_signals
        flock -n 9 || { say "waiting for another ./verbena, which has $1" && flock 9; }
        "${@:2}"
    ) 9>"$1"
}
