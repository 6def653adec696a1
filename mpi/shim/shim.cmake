# SPDX-License-Identifier: Apache-2.0
# Libraries of other ABIs: lib/ompi/libmpi.so.40 (Open MPI), lib/mpich/libmpi.so.12 (MPICH).
# Each needs libmpi_abi.so.1, which lies one folder above.
function(mpi_shim family soversion)
    set(folder ${GEN}/${family})
    list(TRANSFORM chapters PREPEND ${folder}/shim_ OUTPUT_VARIABLE written)
    list(TRANSFORM written APPEND .c)
    list(APPEND written ${folder}/shim_data.c)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/shim/*.c ${CMAKE_CURRENT_SOURCE_DIR}/shim/${family}/*.c)
    add_custom_command(
        OUTPUT ${folder}/stamp
        BYPRODUCTS ${written} ${folder}/shim_names.h ${folder}/shim_values.h
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gen/gen_shim.py ${family} ${folder}
        COMMAND ${CMAKE_COMMAND} -E touch ${folder}/stamp
        DEPENDS ${tables} ${sources} # which functions are written by hand is read from the sources
        COMMENT "Generating the entry points of ${family}" VERBATIM)
    add_custom_target(mpi_${family}_generated DEPENDS ${folder}/stamp)
    add_library(mpi_${family} SHARED ${written} ${sources})
    add_dependencies(mpi_${family} mpi_generated mpi_${family}_generated)
    # Functions with a text on their stack are guarded; a status of known size needs no guard, which each call would pay for.
    target_compile_options(mpi_${family} PRIVATE ${VBN_C_WARNINGS} -fvisibility=hidden -fstack-protector)
    target_include_directories(mpi_${family} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/shim ${CMAKE_CURRENT_SOURCE_DIR}/shim/${family}
                               ${folder} ${INC} ${GEN} ${CMAKE_CURRENT_SOURCE_DIR}/mpi)
    target_link_libraries(mpi_${family} PRIVATE mpi_abi)
    set_target_properties(mpi_${family} PROPERTIES OUTPUT_NAME mpi SOVERSION ${soversion} LIBRARY_OUTPUT_DIRECTORY ${LIB}/${family}
                          BUILD_RPATH $ORIGIN/.. BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH $ORIGIN/..)
    target_link_options(mpi_${family} PRIVATE -Wl,-z,nodelete)
    install(TARGETS mpi_${family} LIBRARY DESTINATION lib/${family} COMPONENT mpi)
endfunction()

mpi_shim(ompi 40)
mpi_shim(mpich 12)

# Debian's name of MPICH's library: it only brings the other one.
add_library(mpi_mpich_name SHARED ${CMAKE_CURRENT_SOURCE_DIR}/shim/alias/other_name.c)
target_link_libraries(mpi_mpich_name PRIVATE -Wl,--no-as-needed mpi_mpich)
set_target_properties(mpi_mpich_name PROPERTIES OUTPUT_NAME mpich SOVERSION 12 LIBRARY_OUTPUT_DIRECTORY ${LIB}/mpich
                      BUILD_RPATH $ORIGIN BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH $ORIGIN)
install(TARGETS mpi_mpich_name LIBRARY DESTINATION lib/mpich COMPONENT mpi)
