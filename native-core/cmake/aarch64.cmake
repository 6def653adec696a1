# SPDX-License-Identifier: Apache-2.0
# Toolchain file: builds for aarch64 on a host of another processor, with Debian's cross compiler. -DVBN_SYSROOT names a folder
# with usr/include and usr/lib/aarch64-linux-gnu of OpenSSL, lz4 and zstd, as Debian's packages for arm64 unpack to.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${VBN_SYSROOT}/usr/include/aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VBN_SYSROOT)
set(OPENSSL_USE_STATIC_LIBS TRUE) # programs need nothing of the folder then
set(CMAKE_FIND_ROOT_PATH ${VBN_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
