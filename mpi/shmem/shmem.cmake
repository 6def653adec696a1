# SPDX-License-Identifier: Apache-2.0
# liboshmem.so.1: OpenSHMEM 1.6, generated from shmem/api, on the runtime that MPI stands on.
set(SHM ${CMAKE_CURRENT_SOURCE_DIR}/shmem)
set(SHM_GEN ${CMAKE_BINARY_DIR}/shmem)

set(groups rma strided atomic signal wait collective reduction team context library deprecated)
list(TRANSFORM groups PREPEND ${SHM_GEN}/entry_ OUTPUT_VARIABLE shm_entries)
list(TRANSFORM shm_entries APPEND .c)
file(GLOB shm_tables CONFIGURE_DEPENDS ${SHM}/api/*.yaml ${SHM}/gen/*.py)
add_custom_command(
    OUTPUT ${SHM_GEN}/stamp
    BYPRODUCTS ${INC}/shmem.h ${INC}/pshmem.h ${shm_entries} ${SHM_GEN}/exports.map
    COMMAND ${Python3_EXECUTABLE} ${SHM}/gen/gen_header.py ${INC}
    COMMAND ${Python3_EXECUTABLE} ${SHM}/gen/gen_entry.py ${SHM_GEN}
    COMMAND ${CMAKE_COMMAND} -E touch ${SHM_GEN}/stamp
    DEPENDS ${shm_tables}
    COMMENT "Generating shmem.h and the entry points" VERBATIM)
add_custom_target(shm_generated DEPENDS ${SHM_GEN}/stamp)

file(GLOB shm_sources CONFIGURE_DEPENDS ${SHM}/src/*.c)
add_library(oshmem SHARED ${shm_sources} ${shm_entries})
mpi_c_target(oshmem)
add_dependencies(oshmem shm_generated)
target_compile_definitions(oshmem PRIVATE SHMEM_NO_GENERICS)
set_source_files_properties(${shm_entries} PROPERTIES COMPILE_OPTIONS "-fvisibility=default")
set_target_properties(oshmem PROPERTIES SOVERSION 1 C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${LIB}
                      BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN" LINK_DEPENDS ${SHM_GEN}/stamp)
target_link_options(oshmem PRIVATE -Wl,--version-script=${SHM_GEN}/exports.map -Wl,--enable-new-dtags)
target_link_libraries(oshmem PRIVATE vbnrt)


option(VBN_MPI_TESTS "build the tests" ON)
if(VBN_MPI_TESTS)
    include(shmem/tests/tests.cmake)
endif()

# With the libraries of MPI: cmake --install BUILD --component mpi.
install(TARGETS oshmem LIBRARY DESTINATION lib COMPONENT mpi)
install(PROGRAMS ${BIN}/oshcc ${BIN}/oshc++ ${BIN}/oshcxx ${BIN}/oshrun DESTINATION bin COMPONENT mpi)
install(FILES ${INC}/shmem.h ${INC}/pshmem.h DESTINATION include COMPONENT mpi)
