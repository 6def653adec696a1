# SPDX-License-Identifier: Apache-2.0
# What test programs in C++ of all components share: options for a short build, GoogleTest's headers, a fast linker.
include(CheckCSourceCompiles)
set(VBN_CMAKE ${CMAKE_CURRENT_LIST_DIR})

# The C++ of tests is compiled for a short build: what it tests is optimised and instrumented C in a library of its own, and
# GoogleTest's templates take ten times as long with optimisation and UBSan. Code for exceptions, and the marks of each
# temporary's end for AddressSanitizer, would take a third of what is left.
function(vbn_test_options target)
    set(plain -O0 -g1 -U_FORTIFY_SOURCE -fno-exceptions)
    if(VBN_SANITIZE MATCHES "undefined")
        list(APPEND plain -fno-sanitize=undefined)
    endif()
    if(VBN_SANITIZE MATCHES "address")
        list(APPEND plain -fno-sanitize-address-use-after-scope)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${plain}>")
endfunction()

# The target vbn_gtest_headers: GoogleTest's headers take most of a test's compile time, and are parsed once for all tests.
# An executable, because position-independent code of libraries is another kind. The caller adds what its tests' options have.
function(vbn_gtest_headers)
    add_executable(vbn_gtest_headers ${VBN_CMAKE}/gtest_headers.cc)
    target_link_libraries(vbn_gtest_headers PRIVATE GTest::gtest GTest::gtest_main Threads::Threads)
    vbn_test_options(vbn_gtest_headers)
    target_precompile_headers(vbn_gtest_headers PRIVATE $<$<COMPILE_LANGUAGE:CXX>:<gtest/gtest.h>>)
endfunction()

# Sets VBN_LINKER: the option for a linker that takes a fraction of the time, where there is one. Only test programs have it:
# what is shipped is linked by the system's.
function(vbn_fast_linker)
    option(VBN_FAST_LINK "link test programs by mold or lld, where there is one" ON)
    set(VBN_LINKER "" PARENT_SCOPE)
    if(NOT VBN_FAST_LINK)
        return()
    endif()
    foreach(linker mold lld)
        set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=${linker})
        set(CMAKE_REQUIRED_QUIET ON)
        check_c_source_compiles("int main(void) { return 0; }" VBN_HAS_LINKER_${linker})
        if(VBN_HAS_LINKER_${linker})
            set(VBN_LINKER -fuse-ld=${linker} PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()
