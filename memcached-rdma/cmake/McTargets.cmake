# SPDX-License-Identifier: Apache-2.0
# Helpers that make one target from a folder's files.

# Flags and include paths: this component, vbn.h and the core's base layer.
function(mc_target target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:${VBN_C_WARNINGS}> $<$<COMPILE_LANGUAGE:CXX>:${VBN_CXX_WARNINGS}>)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${VBN_CORE}/include ${VBN_CORE}/src)
endfunction()

function(mc_program target)
    mc_target(${target})
    target_link_libraries(${target} PRIVATE ${MC_LIBRARIES} ${VBN_BUILD}/libvbn.a
        OpenSSL::SSL OpenSSL::Crypto ${VBN_COMPRESS} Threads::Threads)
endfunction()

# The C++ of tests is compiled for a short build, as the core's.
function(mc_test_options target)
    set(plain -O0 -g1 -U_FORTIFY_SOURCE)
    if(VBN_SANITIZE MATCHES "undefined")
        list(APPEND plain -fno-sanitize=undefined)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${plain}>")
endfunction()

# tests/unit/<folder>/test_*.cc with helper *.c -> mc_unit_<folder>
function(mc_add_tests)
    file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/*)
    foreach(folder ${folders})
        get_filename_component(name ${folder} NAME)
        file(GLOB sources CONFIGURE_DEPENDS ${folder}/test_*.cc ${folder}/*.c)
        if(NOT sources)
            continue()
        endif()
        add_executable(mc_unit_${name} ${sources})
        mc_program(mc_unit_${name})
        mc_test_options(mc_unit_${name})
        target_include_directories(mc_unit_${name} PRIVATE ${folder})
        target_link_libraries(mc_unit_${name} PRIVATE GTest::gtest GTest::gtest_main)
        add_test(NAME mc_unit_${name} COMMAND mc_unit_${name})
        set_tests_properties(mc_unit_${name} PROPERTIES TIMEOUT 300 LABELS "unit")
    endforeach()
endfunction()

# tests/fuzz/<name>.c -> <name>, all of it instrumented.
function(mc_add_fuzzers)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "VBN_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
    endif()
    foreach(library ${MC_LIBRARIES})
        target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        mc_program(${name})
        target_include_directories(${name} PRIVATE ${VBN_CORE}/tests/fuzz)
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
endfunction()

# The same targets over their committed inputs, every truncation and every single changed bit: with any compiler.
function(mc_add_replays)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/*.c)
    foreach(source ${sources})
        get_filename_component(target ${source} NAME_WE)
        string(REGEX REPLACE "^fuzz_" "" name ${target})
        add_executable(replay_${name} ${source} ${VBN_CORE}/tests/fuzz/replay/replay_main.c)
        mc_program(replay_${name})
        target_include_directories(replay_${name} PRIVATE ${VBN_CORE}/tests/fuzz)
        file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus/${name}/*)
        add_test(NAME replay_${name} COMMAND replay_${name} ${corpus})
        set_tests_properties(replay_${name} PROPERTIES TIMEOUT 300 LABELS "fuzz")
    endforeach()
endfunction()
