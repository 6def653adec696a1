# SPDX-License-Identifier: Apache-2.0
# OpenSHMEM 1.6, generated from shmem/api, on the runtime that MPI stands on: a part of the same library.
set(SHM ${CMAKE_CURRENT_SOURCE_DIR}/shmem)
set(SHM_GEN ${CMAKE_BINARY_DIR}/shmem)

set(groups rma strided atomic signal wait collective reduction team context library deprecated)
list(TRANSFORM groups PREPEND ${SHM_GEN}/entry_ OUTPUT_VARIABLE shm_entries)
list(TRANSFORM shm_entries APPEND .c)
file(GLOB shm_tables CONFIGURE_DEPENDS ${SHM}/api/*.yaml ${SHM}/gen/*.py)
add_custom_command(
    OUTPUT ${SHM_GEN}/stamp
    BYPRODUCTS ${INC}/shmem.h ${INC}/pshmem.h ${shm_entries}
    COMMAND ${Python3_EXECUTABLE} ${SHM}/gen/gen_header.py ${INC}
    COMMAND ${Python3_EXECUTABLE} ${SHM}/gen/gen_entry.py ${SHM_GEN}
    COMMAND ${CMAKE_COMMAND} -E touch ${SHM_GEN}/stamp
    DEPENDS ${shm_tables}
    COMMENT "Generating shmem.h and the entry points" VERBATIM)
add_custom_target(shm_generated DEPENDS ${SHM_GEN}/stamp)

file(GLOB shm_sources CONFIGURE_DEPENDS ${SHM}/src/*.c)
add_library(shm_objects OBJECT ${shm_sources} ${shm_entries})
mpi_c_target(shm_objects)
add_dependencies(shm_objects shm_generated)
target_compile_definitions(shm_objects PRIVATE SHMEM_NO_GENERICS)
set_source_files_properties(${shm_entries} PROPERTIES COMPILE_OPTIONS "-fvisibility=default")

option(VBN_MPI_TESTS "build the tests" ON)
if(VBN_MPI_TESTS)
    include(shmem/tests/tests.cmake)
endif()

# With the libraries of MPI: cmake --install BUILD --component mpi.
install(FILES ${LIB}/liboshmem.so ${LIB}/liboshmem.so.1 DESTINATION lib COMPONENT mpi)
install(PROGRAMS ${BIN}/oshcc ${BIN}/oshc++ ${BIN}/oshcxx ${BIN}/oshrun DESTINATION bin COMPONENT mpi)
install(FILES ${INC}/shmem.h ${INC}/pshmem.h DESTINATION include COMPONENT mpi)
