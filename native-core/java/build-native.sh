#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Called by Maven: build-native.sh BUILD-DIR NATIVE-DIR ARCH CLASSES-DIR. Builds libvbnjni.so with CMake, or takes the one named by
# $VERBENA_NATIVE, and puts it with its SHA-256 into NATIVE-DIR/linux-ARCH; likewise the one for aarch64 that
# $VERBENA_NATIVE_AARCH64 names, if it does.
set -euo pipefail
build=$1 # also $1.log
output=$2
arch=$3
classes=$4 # to which Maven copies NATIVE-DIR
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
library=${VERBENA_NATIVE:-}

put() { # put LIBRARY ARCH STRIP
    local folder=$output/linux-$2
    [ -f "$1" ] || { echo "build-native: there is no $1" >&2; exit 1; }
    mkdir -p "$folder"
    "$3" --strip-debug -o "$folder/libvbnjni.so.new" "$1" 2>/dev/null || cp "$1" "$folder/libvbnjni.so.new"
    # An unchanged library keeps its time stamp, and so does its sum: Maven does not repack then.
    if cmp -s "$folder/libvbnjni.so.new" "$folder/libvbnjni.so" && [ -s "$folder/libvbnjni.so.sha256" ]; then
        rm "$folder/libvbnjni.so.new"
    else
        mv "$folder/libvbnjni.so.new" "$folder/libvbnjni.so"
        sha256sum "$folder/libvbnjni.so" | cut -d' ' -f1 >"$folder/libvbnjni.so.sha256"
    fi
}

if [ -z "$library" ]; then
    mkdir -p "$build"
    generator=()
    if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
    cmake "${generator[@]}" -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DVBN_JNI=ON \
        -DVBN_TESTS=OFF -DVBN_SHARED=OFF -DVBN_PORTABLE=ON >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
    cmake --build "$build" --target vbnjni -j "${VERBENA_JOBS:-2}"
    library=$build/libvbnjni.so
fi
put "$library" "$arch" strip
if [ -n "${VERBENA_NATIVE_AARCH64:-}" ] && [ "$arch" != aarch64 ]; then
    put "$VERBENA_NATIVE_AARCH64" aarch64 aarch64-linux-gnu-strip
elif [ "$arch" != aarch64 ]; then
    rm -rf "$output/linux-aarch64" "$classes/META-INF/native/linux-aarch64" # of an earlier build
fi
