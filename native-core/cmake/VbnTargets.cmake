# SPDX-License-Identifier: Apache-2.0
# Helpers that make one target from a folder's files.

# Flags and include paths of C code that sees the core's internals.
function(vbn_c_target target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:${VBN_C_WARNINGS}> $<$<COMPILE_LANGUAGE:CXX>:${VBN_WARNINGS}>)
    target_include_directories(${target} PRIVATE
        ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src ${VBN_GEN})
endfunction()

function(vbn_program target)
    vbn_c_target(${target})
    target_link_libraries(${target} PRIVATE vbn OpenSSL::Crypto Threads::Threads)
endfunction()

# tools/<name>.c -> <name>
function(vbn_add_tools)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tools/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        vbn_program(${name})
        install(TARGETS ${name} RUNTIME DESTINATION bin)
    endforeach()
endfunction()

# tests/unit/<layer>/test_*.cc with helper *.c -> unit_<layer>; test_*.py -> a test of its own;
# tests/multi/test_<name>.cc with helper *.c -> multi_<name>
function(vbn_add_tests)
    # GoogleTest's headers take most of a test's compile time: parsed once for all tests.
    add_executable(vbn_gtest_headers ${CMAKE_CURRENT_SOURCE_DIR}/cmake/gtest_headers.cc)
    vbn_program(vbn_gtest_headers) # an executable, because position-independent code of libraries is another kind
    target_link_libraries(vbn_gtest_headers PRIVATE GTest::gtest GTest::gtest_main)
    target_precompile_headers(vbn_gtest_headers PRIVATE $<$<COMPILE_LANGUAGE:CXX>:<gtest/gtest.h>>)
    file(GLOB layers CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/*)
    foreach(folder ${layers})
        file(GLOB tests CONFIGURE_DEPENDS ${folder}/test_*.cc)
        file(GLOB helpers CONFIGURE_DEPENDS ${folder}/*.c)
        if(tests)
            get_filename_component(layer ${folder} NAME)
            vbn_add_test(unit_${layer} "unit;${layer}" ${tests} ${helpers})
            target_include_directories(unit_${layer} PRIVATE ${folder})
        endif()
    endforeach()
    file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/*/test_*.py)
    foreach(script ${scripts})
        get_filename_component(name ${script} NAME_WE)
        add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${script})
        set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS "unit;tools" ENVIRONMENT TOOLS=${CMAKE_BINARY_DIR})
    endforeach()
    file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/multi/*.cc)
    file(GLOB helpers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/multi/*.c)
    foreach(source ${programs})
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" name ${name})
        vbn_add_test(multi_${name} "multi" ${source} ${helpers})
    endforeach()
endfunction()

function(vbn_add_test target labels)
    set(helpers ${ARGN})
    list(FILTER helpers INCLUDE REGEX "\\.c$")
    set_source_files_properties(${helpers} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    add_executable(${target} ${ARGN})
    vbn_program(${target})
    target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
    target_precompile_headers(${target} REUSE_FROM vbn_gtest_headers)
    add_test(NAME ${target} COMMAND ${target})
    set_tests_properties(${target} PROPERTIES TIMEOUT 120 LABELS "${labels}")
endfunction()

# tests/fuzz/<name>.c -> <name>, with the whole core instrumented.
function(vbn_add_fuzzers)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "VBN_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
    endif()
    target_compile_options(vbn_objects PRIVATE -fsanitize=fuzzer-no-link)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        vbn_program(${name})
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
endfunction()
