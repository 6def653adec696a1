# SPDX-License-Identifier: Apache-2.0
# Fortran: libmpifort_abi.so.1, which needs nothing but the public names of libmpi_abi.so.1; mpif.h, the sources of the modules.
# No compiler of Fortran is needed to build it: mpifort makes the modules for the compiler that it runs.
set(folder ${GEN}/fortran)
set(written "")
foreach(kind fortran f08 ts)
    list(TRANSFORM chapters PREPEND ${folder}/${kind}_ OUTPUT_VARIABLE ${kind}_written)
    list(TRANSFORM ${kind}_written APPEND .c)
endforeach()
set(written ${fortran_written} ${f08_written})
file(GLOB fortran_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fortran/*.c)
file(GLOB family_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fortran/families/*.c)
set(once attr_value.c marks.c help.c compare.c later.c section.c section_bytes.c section_shape.c)
list(TRANSFORM once PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/fortran/)
set(modules mpi_f08_types.f90 mpi.f90 mpi_f08.f90)
list(TRANSFORM modules PREPEND ${INC}/)
set(twice ${fortran_sources} ${written})
list(REMOVE_ITEM twice ${once})
add_custom_command(
    OUTPUT ${folder}/stamp
    BYPRODUCTS ${written} ${ts_written} ${folder}/fortran_sizes.c ${INC}/mpif.h ${modules}
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

# The libraries of the families: the same sources with the family's mpi.h (gen/gen_family.py), over the family's C library.
# TWICE: the sources that are compiled with and without FORTRAN_PMPI (F2); Open MPI's are compiled with it alone.
function(fortran_family family soversion output)
    cmake_parse_arguments(PARSE_ARGV 3 list "" "" "ONCE;TWICE;OTHER_NAMES")
    set(headers ${GEN}/fortran_${family})
    add_custom_command(
        OUTPUT ${headers}/stamp
        BYPRODUCTS ${headers}/mpi.h ${headers}/family_data.c ${headers}/names.ld
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gen/gen_family.py ${family} ${headers}
        COMMAND ${CMAKE_COMMAND} -E touch ${headers}/stamp
        DEPENDS ${tables}
        COMMENT "Generating values of Fortran of ${family}" VERBATIM)
    add_custom_target(fortran_${family}_generated DEPENDS ${headers}/stamp)
    set(target mpifort_${family})
    add_library(fortran_pmpi_${family} OBJECT ${list_TWICE} ${list_ONCE} ${headers}/family_data.c)
    target_compile_definitions(fortran_pmpi_${family} PRIVATE FORTRAN_PMPI)
    add_library(${target} SHARED $<TARGET_OBJECTS:fortran_pmpi_${family}>)
    if(family STREQUAL mpich) # its functions without P call those of C without P
        target_sources(${target} PRIVATE ${list_TWICE})
    else()
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
    endif()
    foreach(one fortran_pmpi_${family} ${target})
        fortran_target(${one} ${family} ${headers})
        add_dependencies(${one} fortran_${family}_generated)
    endforeach()
    target_link_libraries(${target} PRIVATE mpi_${family} ${CMAKE_DL_LIBS})
    target_link_options(${target} PRIVATE ${headers}/names.ld -Wl,-z,nodelete)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} SOVERSION ${soversion}
                          LIBRARY_OUTPUT_DIRECTORY ${LIB}/${family} LINK_DEPENDS ${headers}/names.ld
                          BUILD_RPATH $ORIGIN BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH $ORIGIN)
    install(TARGETS ${target} LIBRARY DESTINATION lib/${family} COMPONENT mpi)
    foreach(name ${list_OTHER_NAMES}) # they only bring that one
        add_library(${family}_${name} SHARED ${CMAKE_CURRENT_SOURCE_DIR}/shim/alias/other_name.c)
        target_link_libraries(${family}_${name} PRIVATE -Wl,--no-as-needed ${target})
        set_target_properties(${family}_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${soversion} LIBRARY_OUTPUT_DIRECTORY
                              ${LIB}/${family} BUILD_RPATH $ORIGIN BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH $ORIGIN)
        install(TARGETS ${family}_${name} LIBRARY DESTINATION lib/${family} COMPONENT mpi)
    endforeach()
endfunction()

set(sections later.c section.c section_bytes.c section_shape.c)
list(TRANSFORM sections PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/fortran/)
set(common attr_value.c marks.c help.c compare.c)
list(TRANSFORM common PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/fortran/)
set(called ${fortran_sources} ${family_sources} ${fortran_written})
list(REMOVE_ITEM called ${common} ${sections})
set(called_by_descriptors ${CMAKE_CURRENT_SOURCE_DIR}/fortran/mpich/names.c ${f08_written} ${ts_written})
set(called_by_addresses ${called})
list(REMOVE_ITEM called_by_addresses ${CMAKE_CURRENT_SOURCE_DIR}/fortran/f08.c)
fortran_family(ompi 40 mpi_mpifh ONCE ${common} TWICE ${called_by_addresses} OTHER_NAMES mpi_usempif08 mpi_usempi_ignore_tkr)
fortran_family(mpich 12 mpifort ONCE ${common} ${sections} TWICE ${called} ${called_by_descriptors} OTHER_NAMES mpichfort)
