# SPDX-License-Identifier: Apache-2.0
# Helpers that make one target from a folder's files.

# Flags and include paths of C code that sees the core's internals.
function(vbn_c_target target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:${VBN_C_WARNINGS}> $<$<COMPILE_LANGUAGE:CXX>:${VBN_CXX_WARNINGS}>)
    target_include_directories(${target} PRIVATE
        ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src ${VBN_GEN})
endfunction()

function(vbn_program target)
    vbn_c_target(${target})
    target_link_libraries(${target} PRIVATE vbn OpenSSL::SSL OpenSSL::Crypto ${VBN_COMPRESS} Threads::Threads)
endfunction()

# tools/vbn_x.c or tools/vbn_x/*.c -> the program vbn-x
function(vbn_add_tools)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tools/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        vbn_add_tool(${name} ${source})
    endforeach()
    file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/tools/*)
    foreach(folder ${folders})
        file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
        if(sources)
            get_filename_component(name ${folder} NAME)
            vbn_add_tool(${name} ${sources})
        endif()
    endforeach()
endfunction()

function(vbn_add_tool name)
    string(REPLACE "_" "-" name ${name})
    add_executable(${name} ${ARGN})
    vbn_program(${name})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/tools)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    set_property(GLOBAL APPEND PROPERTY VBN_TOOLS ${name})
endfunction()

# vbn_helpers(<result> <C files>): the objects of files that several programs of one folder share, each compiled once, whichever
# program asks first. Position-independent as programs are, so that costs are counted of the same code.
function(vbn_helpers result)
    set(objects "")
    foreach(source ${ARGN})
        file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${source})
        string(MAKE_C_IDENTIFIER "helper_${name}" name)
        if(NOT TARGET ${name})
            add_library(${name} OBJECT ${source})
            add_dependencies(${name} vbn_settings)
            vbn_c_target(${name})
            target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/tests/models)
            set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
            target_compile_options(${name} PRIVATE -fPIE ${VBN_HELPER_OPTIONS})
        endif()
        list(APPEND objects $<TARGET_OBJECTS:${name}>)
    endforeach()
    set(${result} ${objects} PARENT_SCOPE)
endfunction()
