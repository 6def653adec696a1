# SPDX-License-Identifier: Apache-2.0
# Programs for each rule, and programs generated from the tables.
set(SHM_TESTS ${CMAKE_CURRENT_SOURCE_DIR}/shmem/tests)

# What a user's program sees: shmem.h, mpi.h and the library.
function(shm_program name source)
    add_executable(shm_${name} ${source})
    add_dependencies(shm_${name} shm_generated mpi_generated)
    set_target_properties(shm_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/shmem-tests)
    target_include_directories(shm_${name} PRIVATE ${INC} ${SHM_TESTS} ${SHM_TESTS}/run
                               ${CMAKE_CURRENT_SOURCE_DIR}/../native-core/tests) # step.h, only_calls.h
    target_compile_options(shm_${name} PRIVATE -Wall -Wextra ${ARGN})
    target_link_libraries(shm_${name} PRIVATE mpi_abi Threads::Threads)
endfunction()

file(GLOB programs CONFIGURE_DEPENDS ${SHM_TESTS}/run/*.c)
foreach(program ${programs})
    get_filename_component(name ${program} NAME_WE)
    shm_program(${name} ${program})
endforeach()

add_library(shm_table SHARED ${SHM_TESTS}/library/table.c)
target_compile_options(shm_table PRIVATE ${VBN_C_WARNINGS})
set_target_properties(shm_table PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/shmem-tests)
target_link_libraries(shm_library PRIVATE shm_table)

set(names every_rma.c every_strided.c every_atomic.c every_signal.c every_wait.c every_collective.c every_reduction.c
          every_deprecated.c links.c generics.c overloads.cc)
list(TRANSFORM names PREPEND ${SHM_GEN}/tests/ OUTPUT_VARIABLE made)
add_custom_command(
    OUTPUT ${SHM_GEN}/tests/stamp
    BYPRODUCTS ${made}
    COMMAND ${Python3_EXECUTABLE} ${SHM_TESTS}/gen_tests.py ${SHM_GEN}/tests
    COMMAND ${Python3_EXECUTABLE} ${SHM_TESTS}/gen_tests.py --counts
    COMMAND ${CMAKE_COMMAND} -E touch ${SHM_GEN}/tests/stamp
    DEPENDS ${shm_tables} ${SHM_TESTS}/gen_tests.py VERBATIM)
add_custom_target(shm_tests_generated DEPENDS ${SHM_GEN}/tests/stamp)
foreach(source ${made})
    get_filename_component(name ${source} NAME_WE)
    shm_program(${name} ${source} -O1)
    add_dependencies(shm_${name} shm_tests_generated)
endforeach()
target_compile_features(shm_overloads PRIVATE cxx_std_17)


# What ./verbena bench shmem builds with each library's own oshcc.
file(GLOB shm_bench CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/shmem/bench/*.c ${CMAKE_CURRENT_SOURCE_DIR}/bench/common/*.c)
shm_program(shmembench "${shm_bench}" ${VBN_C_WARNINGS})
target_include_directories(shm_shmembench PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/bench)
target_compile_definitions(shm_shmembench PRIVATE _GNU_SOURCE)
