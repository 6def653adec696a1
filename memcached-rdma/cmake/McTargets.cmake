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
    target_link_libraries(${target} PRIVATE ${MC_LIBRARIES} ${VBN_ARCHIVE}
        OpenSSL::SSL OpenSSL::Crypto ${VBN_COMPRESS} Threads::Threads)
endfunction()

# A program of GoogleTest.
function(mc_test_program target)
    set(helpers ${ARGN})
    list(FILTER helpers INCLUDE REGEX "\\.c$")
    set_source_files_properties(${helpers} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    add_executable(${target} ${ARGN})
    vbn_test_options(${target})
    target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
    target_link_options(${target} PRIVATE ${VBN_LINKER})
    target_precompile_headers(${target} REUSE_FROM vbn_gtest_headers)
endfunction()

# tests/unit/<folder>/test_*.cc with helper *.c -> mc_unit_<folder>. A build for the race detector also gets mc_threads_<folder>
# of test_threads.cc, by the target thread_tests.
function(mc_add_tests)
    file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/*)
    foreach(folder ${folders})
        get_filename_component(name ${folder} NAME)
        file(GLOB tests CONFIGURE_DEPENDS ${folder}/test_*.cc)
        file(GLOB helpers CONFIGURE_DEPENDS ${folder}/*.c)
        if(NOT tests)
            continue()
        endif()
        mc_add_unit_test(mc_unit_${name} unit ${folder} ${tests} ${helpers})
        if(VBN_SANITIZE STREQUAL thread AND EXISTS ${folder}/test_threads.cc)
            mc_add_unit_test(mc_threads_${name} race ${folder} ${folder}/test_threads.cc ${helpers})
            add_dependencies(thread_tests mc_threads_${name})
        endif()
    endforeach()
endfunction()

function(mc_add_unit_test target label folder)
    mc_test_program(${target} ${ARGN})
    mc_program(${target})
    target_include_directories(${target} PRIVATE ${folder})
    add_test(NAME ${target} COMMAND ${target})
    set_tests_properties(${target} PROPERTIES LABELS ${label})
endfunction()

# tests/client/test_*.cc with helpers *.c -> mc_client_tests: the client library against real servers.
function(mc_add_client_tests)
    if(VBN_FUZZ)
        return()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/client/*.cc
        ${CMAKE_CURRENT_SOURCE_DIR}/tests/client/*.c)
    mc_test_program(mc_client_tests ${sources})
    target_link_libraries(mc_client_tests PRIVATE mc_client)
    mc_program(mc_client_tests)
    target_include_directories(mc_client_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/tests/client)
    target_compile_definitions(mc_client_tests PRIVATE VERBENA_MEMCACHED="$<TARGET_FILE:verbena-memcached>")
    target_link_libraries(mc_client_tests PRIVATE m)
    add_dependencies(mc_client_tests verbena-memcached)
    add_test(NAME mc_client COMMAND mc_client_tests)
    set_tests_properties(mc_client PROPERTIES LABELS "client")
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
    add_library(mc_replay OBJECT ${VBN_CORE}/tests/fuzz/replay/replay_main.c)
    mc_target(mc_replay)
    target_include_directories(mc_replay PRIVATE ${VBN_CORE}/tests/fuzz)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/*.c)
    foreach(source ${sources})
        get_filename_component(target ${source} NAME_WE)
        string(REGEX REPLACE "^fuzz_" "" name ${target})
        add_executable(replay_${name} ${source} $<TARGET_OBJECTS:mc_replay>)
        mc_program(replay_${name})
        target_include_directories(replay_${name} PRIVATE ${VBN_CORE}/tests/fuzz)
        file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus/${name}/*)
        add_test(NAME replay_${name} COMMAND replay_${name} ${corpus})
        set_tests_properties(replay_${name} PROPERTIES LABELS "fuzz")
    endforeach()
endfunction()

# libmemcached.so.11, libmemcachedutil.so.2 and libhashkit.so.2 of our own, in a folder of their own: programs find them by
# LD_LIBRARY_PATH, and nothing else comes with it.
function(mc_add_compat)
    set(folder ${CMAKE_CURRENT_SOURCE_DIR}/compat)
    file(GLOB hashkit CONFIGURE_DEPENDS ${folder}/hashkit/*.c)
    file(GLOB memcached CONFIGURE_DEPENDS ${folder}/*.c)
    file(GLOB util CONFIGURE_DEPENDS ${folder}/util/*.c)
    mc_compat_library(hashkit 2 ${folder}/hashkit/libhashkit.map ${hashkit} ${CMAKE_CURRENT_SOURCE_DIR}/client/md5.c)
    mc_compat_library(memcached 11 ${folder}/libmemcached.map ${memcached} $<TARGET_OBJECTS:mc_client>)
    mc_program(mc_compat_memcached)
    target_link_libraries(mc_compat_memcached PRIVATE mc_compat_hashkit m)
    target_link_options(mc_compat_memcached PRIVATE -Wl,-z,nodelete) # as of libverbena-memcached
    mc_need_sasl(mc_compat_memcached)
    mc_compat_library(memcachedutil 2 ${folder}/libmemcached.map ${util})
    target_link_libraries(mc_compat_memcachedutil PRIVATE mc_compat_memcached Threads::Threads)
endfunction()

function(mc_compat_library name version map)
    set(target mc_compat_${name})
    add_library(${target} SHARED ${ARGN})
    mc_target(${target})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/client/include)
    target_link_options(${target} PRIVATE -Wl,--version-script=${map})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${version}.0.0 SOVERSION ${version}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/compat BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
        LINK_DEPENDS ${map})
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/verbena/libmemcached NAMELINK_SKIP)
endfunction()

# Debian's libmemcached needs libsasl2.so.2, and programs that are linked to libmemcached alone use that (pylibmc). So does ours,
# without a use of its own: it is linked to an empty library of that name, and the real one is found when programs start.
function(mc_need_sasl target)
    set(stub ${CMAKE_CURRENT_BINARY_DIR}/sasl/stub.c)
    file(CONFIGURE OUTPUT ${stub} CONTENT "extern int mc_sasl_stub;\nint mc_sasl_stub;\n")
    add_library(mc_sasl SHARED ${stub})
    set_target_properties(mc_sasl PROPERTIES OUTPUT_NAME sasl2 SOVERSION 2
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/sasl)
    target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed mc_sasl -Wl,--pop-state)
endfunction()
