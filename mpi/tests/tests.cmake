# SPDX-License-Identifier: Apache-2.0
# Own programs (one per rule), programs generated from the tables, unit tests.
set(TESTS ${CMAKE_CURRENT_SOURCE_DIR}/tests)

# What a user's program sees: mpi.h and libmpi_abi only.
function(mpi_program name source)
    add_executable(run_${name} ${source})
    add_dependencies(run_${name} mpi_generated)
    set_target_properties(run_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(run_${name} PRIVATE ${INC} ${TESTS}/run
                               ${CMAKE_CURRENT_SOURCE_DIR}/../native-core/tests) # only_calls.h
    # gcc takes MPI_UNWEIGHTED, an address of no memory, for an array that is read
    target_compile_options(run_${name} PRIVATE -Wall -Wextra $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overread>)
    target_link_libraries(run_${name} PRIVATE mpi_abi)
endfunction()

file(GLOB programs CONFIGURE_DEPENDS ${TESTS}/run/*.c)
foreach(program ${programs})
    get_filename_component(name ${program} NAME_WE)
    mpi_program(${name} ${program})
endforeach()

# The names of its own core are there for whoever looks them up by name.
target_include_directories(run_own_core PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/../native-core/include)
target_link_libraries(run_own_core PRIVATE ${core} ${needs})
set_target_properties(run_own_core PROPERTIES ENABLE_EXPORTS ON)

foreach(kind values links calls)
    add_custom_command(
        OUTPUT ${GEN}/${kind}.c
        COMMAND ${Python3_EXECUTABLE} ${TESTS}/abi/values.py ${kind} ${GEN}/${kind}.c
        COMMAND ${CMAKE_COMMAND} -E touch ${GEN}/${kind}.c
        DEPENDS ${GEN}/stamp ${TESTS}/abi/values.py VERBATIM)
    mpi_program(abi_${kind} ${GEN}/${kind}.c)
    add_test(NAME abi_${kind} COMMAND run_abi_${kind})
endforeach()
add_test(NAME abi_names COMMAND ${Python3_EXECUTABLE} ${TESTS}/abi/names.py ${LIB})

# What ./verbena bench mpi builds with every library's own mpicc.
file(GLOB bench CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*.c ${CMAKE_CURRENT_SOURCE_DIR}/bench/common/*.c)
mpi_program(mpibench "${bench}")
target_compile_options(run_mpibench PRIVATE ${VBN_C_WARNINGS})

find_package(GTest QUIET)
if(GTest_FOUND)
    file(GLOB units CONFIGURE_DEPENDS ${TESTS}/unit/*.cc)
    add_executable(mpi_unit ${units} $<TARGET_OBJECTS:mpi_objects> $<TARGET_OBJECTS:rt_objects> ${core_object})
    add_dependencies(mpi_unit mpi_generated core_linked)
    target_include_directories(mpi_unit PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/mpi ${INC}
                               ${CMAKE_CURRENT_SOURCE_DIR}/../native-core/include)
    target_compile_options(mpi_unit PRIVATE ${VBN_CXX_WARNINGS})
    vbn_test_options(mpi_unit)
    target_precompile_headers(mpi_unit PRIVATE <gtest/gtest.h>)
    target_link_libraries(mpi_unit PRIVATE ${needs} GTest::gtest_main)
    add_test(NAME unit COMMAND mpi_unit)

    # A process of its own: the heap takes more addresses than tests of limits leave.
    set(heap_parts ${heap_sources}) # but for the names of libc
    list(FILTER heap_parts EXCLUDE REGEX "malloc.c$")
    add_library(heap_objects OBJECT ${heap_parts} rt/blocks.c)
    mpi_c_target(heap_objects)
    add_executable(mpi_unit_heap ${TESTS}/unit/heap/test_heap.cc $<TARGET_OBJECTS:heap_objects>)
    target_include_directories(mpi_unit_heap PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(mpi_unit_heap PRIVATE ${VBN_CXX_WARNINGS})
    vbn_test_options(mpi_unit_heap)
    target_link_libraries(mpi_unit_heap PRIVATE Threads::Threads GTest::gtest_main)
    add_test(NAME unit_heap COMMAND mpi_unit_heap)
endif()
