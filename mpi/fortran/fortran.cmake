# SPDX-License-Identifier: Apache-2.0
# Fortran: libmpifort_abi.so.1, which needs nothing but the public names of libmpi_abi.so.1; mpif.h, the source of module mpi.
# No compiler of Fortran is needed to build it: mpifort makes the module for the compiler that it runs.
set(folder ${GEN}/fortran)
set(written ${chapters})
list(TRANSFORM written PREPEND ${folder}/fortran_)
list(TRANSFORM written APPEND .c)
file(GLOB fortran_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fortran/*.c)
set(once ${CMAKE_CURRENT_SOURCE_DIR}/fortran/marks.c ${CMAKE_CURRENT_SOURCE_DIR}/fortran/help.c)
set(twice ${fortran_sources} ${written})
list(REMOVE_ITEM twice ${once})
add_custom_command(
    OUTPUT ${folder}/stamp
    BYPRODUCTS ${written} ${folder}/fortran_sizes.c ${INC}/mpif.h ${INC}/mpi.f90
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gen/gen_fortran.py ${folder} ${INC}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/stamp
    DEPENDS ${tables} ${fortran_sources} # which functions are written by hand is read from the sources
    COMMENT "Generating Fortran's functions, mpif.h and the module mpi" VERBATIM)
add_custom_target(mpi_fortran_generated DEPENDS ${folder}/stamp)

function(fortran_target target)
    add_dependencies(${target} mpi_generated mpi_fortran_generated)
    # gcc does not see that an array of n elements is filled where n says so
    target_compile_options(${target} PRIVATE ${VBN_C_WARNINGS} -fvisibility=hidden $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/fortran ${INC})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

add_library(fortran_pmpi OBJECT ${twice}) # F2 of fortran.h
fortran_target(fortran_pmpi)
target_compile_definitions(fortran_pmpi PRIVATE FORTRAN_PMPI)
add_library(mpifort_abi SHARED ${twice} ${once} ${folder}/fortran_sizes.c $<TARGET_OBJECTS:fortran_pmpi>)
fortran_target(mpifort_abi)
target_link_libraries(mpifort_abi PRIVATE mpi_abi)
set_target_properties(mpifort_abi PROPERTIES SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${LIB} BUILD_RPATH $ORIGIN
                      BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH $ORIGIN)
install(TARGETS mpifort_abi LIBRARY DESTINATION lib COMPONENT mpi)
install(PROGRAMS ${BIN}/mpifort DESTINATION bin COMPONENT mpi)
install(FILES ${INC}/mpif.h ${INC}/mpi.f90 DESTINATION include COMPONENT mpi)
