#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages that commands need: packages.table names them. They are looked for by what they bring, so that it works without
# apt, too. Where they can be installed, they are. Elsewhere one line names all of them, and what is there is used.
# shellcheck disable=SC2153,SC2154 # variables and functions of ./verbena

BASIC="native tables rdma tests java downloads spark results" # what every command installs, for all that follow
OS_RELEASE=/etc/os-release
DISTRIBUTION=
MODULES=
NEEDS=() # rows of packages.table: what|for|found by|Debian|RHEL|SLES

read_needs() {
    [ "${#NEEDS[@]}" = 0 ] || return 0
    mapfile -t NEEDS < <(sed -e '/^#/d' -e '/^$/d' -e 's/ *| */|/g' "$ROOT/tests/command/packages.table")
}

is_there() { # $1: a way of the table to find something
    local way=${1%%:*} names name PATH=$PATH:/usr/sbin:/sbin
    IFS=, read -ra names <<<"${1#*:}"
    for name in "${names[@]}"; do
        case $way in
        program) if [ -x "$(type -P "$name")" ]; then return 0; fi ;;
        library) if pkg-config --exists "$name" 2>/dev/null; then return 0; fi ;;
        module) if [[ $MODULES = *" $name "* ]]; then return 0; fi ;;
        file) if compgen -G "$name" >/dev/null; then return 0; fi ;;
        fuzzer) if find_fuzz_cc; then return 0; fi ;;
        esac
    done
    return 1
}

look_for_modules() { # sets MODULES to those of the table that Python has
    [ -z "$MODULES" ] || return 0
    local names program='import importlib.util as u, sys
print(*(name for name in sys.argv[1:] if getattr(u.find_spec(name), "origin", None)))'
    mapfile -t names < <(printf '%s\n' "${NEEDS[@]}" | sed -n 's/.*|module:\([^|]*\)|.*/\1/p')
    MODULES=" $("$PYTHON" -c "$program" "${names[@]}" 2>/dev/null) " || MODULES=" "
}

has_apt() { [ -z "${VERBENA_NO_APT:-}" ] && command -v apt-get >/dev/null; }

# ------------------------------------------------------------------------------------------- names of packages

look_at_distribution() { # sets DISTRIBUTION to debian, redhat or suse: whose names are told here
    [ -z "$DISTRIBUTION" ] || return 0
    local ID='' ID_LIKE=''
    # shellcheck source=/dev/null
    [ ! -r "$OS_RELEASE" ] || . "$OS_RELEASE"
    case " $ID $ID_LIKE " in
    *suse* | *' sles '*) DISTRIBUTION=suse ;;
    *rhel* | *fedora* | *centos*) DISTRIBUTION=redhat ;;
    *) DISTRIBUTION=debian ;;
    esac
}

first_available() { # prints the first package of the list that apt knows, else the first
    local package
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 && echo "$package" && return
    done
    echo "$1"
}

debian_name() { # $1: a cell of Debian's column
    local names version='' depends='s/^ *Depends: clang-\([0-9]*\)$/\1/p'
    [[ $1 = */* ]] || { echo "$1" && return; }
    [[ $1 != *@CLANG@* ]] || version=$(apt-cache depends clang 2>/dev/null | sed -n "$depends" | head -n 1)
    IFS=/ read -ra names <<<"${1//@CLANG@/$version}"
    first_available "${names[@]}"
}

package_of() { # $1: a row; prints the name of its package here, or nothing
    local debian redhat suse name
    look_at_distribution
    IFS='|' read -r _ _ _ debian redhat suse <<<"$1"
    case $DISTRIBUTION in
    redhat) name=$redhat ;;
    suse) name=$suse ;;
    *) name=$(debian_name "$debian") ;;
    esac
    [ "$name" = - ] || echo "$name"
}

packages_of() { # of the rows on the input, each once
    local row
    while read -r row; do [ -z "$row" ] || package_of "$row"; done | sort -u
}

install_line() { # $@: packages; prints the command line for an administrator
    look_at_distribution
    case $DISTRIBUTION in
    redhat) echo "dnf install -y $*" ;;
    suse) echo "zypper install -y $*" ;;
    *) echo "apt-get update && apt-get install -y --no-install-recommends $*" ;;
    esac
}

# ---------------------------------------------------------------------------------------------- what is missing

missing_rows() { # $@: what to look at: Debian's names of packages, and @KIND for all of a kind; nothing: the whole table
    local row kind found debian
    read_needs
    look_for_modules
    for row in "${NEEDS[@]}"; do
        IFS='|' read -r _ kind found debian _ <<<"$row"
        [ $# = 0 ] || [[ " $* " = *" @$kind "* || " $* " = *" $debian "* ]] || continue
        is_there "$found" || echo "$row"
    done
}

what_of() { # prints what the rows on the input are, in one line
    local rows
    mapfile -t rows < <(cut -d '|' -f 1)
    printf '%s' "${rows[0]:-}"
    [ "${#rows[@]}" -lt 2 ] || printf ', %s' "${rows[@]:1}"
}

can_install() { has_apt && may_be_root; }

is_basic_missing() { # $@: kinds; without any, all that every command installs
    local basic
    read -ra basic <<<"${*:-$BASIC}"
    [ -n "$(missing_rows "${basic[@]/#/@}")" ]
}

# Tries to have packages; what is basic is tried beside them. False: one of $@ is missing, and cannot be installed.
try_packages() {
    local basic missing
    read -ra basic <<<"$BASIC"
    missing=$(missing_rows "${basic[@]/#/@}" "$@")
    [ -n "$missing" ] || return 0
    WHY="installing takes root or sudo"
    has_apt || WHY="packages are installed by hand on this system"
    if can_install; then
        alone "$CACHE/apt.lock" install_packages "${basic[@]/#/@}" "$@" && missing=$(missing_rows "${basic[@]/#/@}" "$@")
        [ -n "$missing" ] || return 0
        WHY=$(reason_of_apt)
    fi
    tell_administrator "$missing"
    [ $# = 0 ] || [ -z "$(missing_rows "$@")" ]
}

ensure_packages() { # $@: packages beyond the basic ones, without which this cannot go on
    try_packages "$@" || needs_packages "$(missing_rows "$@")"
}

needs_packages() { # $1: rows. Ends with the line that names them
    local packages
    packages=$(packages_of <<<"$1" | paste -s -d ' ')
    die "cannot go on without $(what_of <<<"$1"): install ${packages:-it by hand}" \
        "('./verbena packages' lists all that any command uses)"
}

require() { # $@: kinds, without which what follows cannot work
    local missing
    missing=$(missing_rows "${@/#/@}")
    [ -z "$missing" ] || needs_packages "$missing"
}

# -------------------------------------------------------------------------------------------------- installing

may_be_root() { # sudo asks for a password where somebody can type one
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_packages() { # $@: as missing_rows has them; another start may have installed them while this one waited
    local packages missing
    missing=$(missing_rows "$@")
    [ -n "$missing" ] || return 0
    mkdir -p "$STATE/log"
    export DEBIAN_FRONTEND=noninteractive
    mapfile -t packages < <(packages_of <<<"$missing")
    say "installing Debian packages: ${packages[*]}"
    watched apt-update "$STATE/log/apt-update.log" as_root apt-get update -q || return
    mapfile -t packages < <(packages_of <<<"$missing") # the JDK's name is known only now
    watched apt-install "$STATE/log/apt.log" as_root apt-get -o DPkg::Lock::Timeout=600 \
        install -y --no-install-recommends "${packages[@]}"
}

reason_of_apt() { # why the last installation did not bring everything
    local error logs=("$STATE/log/apt-update.log" "$STATE/log/apt.log")
    error=$(grep -ahE 'Temporary failure|Could not (resolve|connect)|Failed to fetch|^E: |^sudo: ' "${logs[@]}" 2>/dev/null \
        | head -n 1 | sed 's/^ *//' | cut -c 1-160) || true
    echo "apt-get could not install: ${error:-no reason told} (${logs[*]}); check the network"
}

# One line, once in a start of ./verbena, with all that any command would use: nobody asks an administrator twice.
tell_administrator() { # $1: rows that are missing now
    local told=$STATE/log/packages.told all
    [ "$(cat "$told" 2>/dev/null)" != $$ ] || return 0
    { mkdir -p "$STATE/log" && echo $$ >"$told"; } 2>/dev/null || true # in a clone of somebody else
    all=$(missing_rows | packages_of | paste -s -d ' ')
    say "missing here: $(what_of <<<"$1"); $WHY. An administrator can install all that any command uses:" \
        "$(install_line "$all"). What works without them goes on" >&2
}

cmd_packages() { # the whole list, or the names of what is missing
    local row what kind state packages missing
    missing=$(missing_rows)
    packages=$(packages_of <<<"$missing")
    [ "${1:-}" != --missing ] || { printf '%s' "${packages:+$packages$'\n'}" && return; }
    read_needs
    printf '%-26s %-10s %-8s %s\n' package for "" "what it is"
    for row in "${NEEDS[@]}"; do
        IFS='|' read -r what kind _ <<<"$row"
        state=
        [[ $'\n'"$missing"$'\n' != *$'\n'"$row"$'\n'* ]] || state=missing
        printf '%-26s %-10s %-8s %s\n' "$(package_of "$row")" "$kind" "$state" "$what"
    done
    [ -n "$packages" ] || { say "nothing is missing" && return; }
    say "to install the missing ones: $(install_line "${packages//$'\n'/ }")"
}
