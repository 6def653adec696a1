#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Called by Maven: build-native.sh BUILD-DIR OUTPUT-DIR. Builds libvbnjni.so with CMake, or takes the one named by
# $VERBENA_NATIVE, and puts it with its SHA-256 into OUTPUT-DIR.
set -euo pipefail
build=$1 # also $1.log
output=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
library=${VERBENA_NATIVE:-}

if [ -z "$library" ]; then
    mkdir -p "$build"
    generator=()
    if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
    cmake "${generator[@]}" -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DVBN_JNI=ON \
        -DVBN_TESTS=OFF -DVBN_SHARED=OFF -DVBN_PORTABLE=ON >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
    cmake --build "$build" --target vbnjni -j "${VERBENA_JOBS:-2}"
    library=$build/libvbnjni.so
fi
[ -f "$library" ] || { echo "build-native: there is no $library" >&2; exit 1; }

mkdir -p "$output"
strip --strip-debug -o "$output/libvbnjni.so.new" "$library" 2>/dev/null || cp "$library" "$output/libvbnjni.so.new"
# An unchanged library keeps its time stamp, so that Maven does not repack.
if cmp -s "$output/libvbnjni.so.new" "$output/libvbnjni.so"; then
    rm "$output/libvbnjni.so.new"
else
    mv "$output/libvbnjni.so.new" "$output/libvbnjni.so"
fi
sha256sum "$output/libvbnjni.so" | cut -d' ' -f1 >"$output/libvbnjni.so.sha256"
