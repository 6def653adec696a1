# SPDX-License-Identifier: Apache-2.0
# Fortran: libmpifort_abi.so.1, which needs nothing but the public names of libmpi_abi.so.1; mpif.h, the sources of the modules.
# No compiler of Fortran is needed to build it: mpifort makes the modules for the compiler that it runs.
set(folder ${GEN}/fortran)
set(written "")
foreach(kind fortran f08)
    set(files ${chapters})
    list(TRANSFORM files PREPEND ${folder}/${kind}_)
    list(TRANSFORM files APPEND .c)
    list(APPEND written ${files})
endforeach()
file(GLOB fortran_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fortran/*.c)
set(once attr_value.c marks.c help.c compare.c later.c section.c section_bytes.c section_shape.c)
list(TRANSFORM once PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/fortran/)
set(modules mpi_f08_types.f90 mpi.f90 mpi_f08.f90)
list(TRANSFORM modules PREPEND ${INC}/)
set(twice ${fortran_sources} ${written})
list(REMOVE_ITEM twice ${once})
add_custom_command(
    OUTPUT ${folder}/stamp
    BYPRODUCTS ${written} ${folder}/fortran_sizes.c ${INC}/mpif.h ${modules}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gen/gen_fortran.py ${folder} ${INC}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gen/gen_f08.py ${folder} ${INC}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/stamp
    DEPENDS ${tables} ${fortran_sources} # which functions are written by hand is read from the sources
    COMMENT "Generating Fortran's functions, mpif.h and the modules" VERBATIM)
add_custom_target(mpi_fortran_generated DEPENDS ${folder}/stamp)

function(fortran_target target abi headers) # abi: the folder with its abi.h; headers: that of its mpi.h
    add_dependencies(${target} mpi_generated mpi_fortran_generated)
    # gcc does not see that an array of n elements is filled where n says so
    target_compile_options(${target} PRIVATE ${VBN_C_WARNINGS} -fvisibility=hidden $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_include_directories(${target} PRIVATE ${headers} ${CMAKE_CURRENT_SOURCE_DIR}/fortran/${abi}
                               ${CMAKE_CURRENT_SOURCE_DIR}/fortran)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

add_library(fortran_pmpi OBJECT ${twice}) # F2 of fortran.h
fortran_target(fortran_pmpi abi ${INC})
target_compile_definitions(fortran_pmpi PRIVATE FORTRAN_PMPI)
add_library(mpifort_abi SHARED ${twice} ${once} ${folder}/fortran_sizes.c $<TARGET_OBJECTS:fortran_pmpi>)
fortran_target(mpifort_abi abi ${INC})
target_link_libraries(mpifort_abi PRIVATE mpi_abi ${CMAKE_DL_LIBS})
set_target_properties(mpifort_abi PROPERTIES SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${LIB} BUILD_RPATH $ORIGIN
                      BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH $ORIGIN)
install(TARGETS mpifort_abi LIBRARY DESTINATION lib COMPONENT mpi)
install(PROGRAMS ${BIN}/mpifort ${BIN}/mpif77 ${BIN}/mpif90 DESTINATION bin COMPONENT mpi)
install(FILES ${INC}/mpif.h ${modules} DESTINATION include COMPONENT mpi)
