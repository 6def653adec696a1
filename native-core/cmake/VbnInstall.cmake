# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives: both libraries, header, programs, vbn.pc and vbn-static.pc, a CMake package, the list of
# settings and the examples. Everything finds the rest relative to itself, so the tree may be moved.

# Libraries that libvbn.a needs and brings along; sanitizers that whoever links instrumented code needs too.
function(vbn_describe_needs)
    set(needs "-lssl -lcrypto -llz4 -lzstd -lpthread -ldl")
    set(instrumented "")
    if(VBN_SANITIZE)
        set(instrumented " -fsanitize=${VBN_SANITIZE}")
    endif()
    set(VBN_PC_NEEDS "${needs}${instrumented}" PARENT_SCOPE)
    set(VBN_PC_INSTRUMENTED "${instrumented}" PARENT_SCOPE)
endfunction()

# The folders of .pc files: from where the file lies, so that the tree may be installed anywhere and moved. A folder that is
# configured as an absolute path stays that.
function(vbn_pc_folders)
    set(VBN_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        file(RELATIVE_PATH back "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
        string(REGEX REPLACE "/$" "" back "${back}")
        set(VBN_PC_PREFIX "\${pcfiledir}/${back}")
    endif()
    foreach(name LIBDIR INCLUDEDIR)
        set(folder "${CMAKE_INSTALL_${name}}")
        if(NOT IS_ABSOLUTE "${folder}")
            set(folder "\${prefix}/${folder}")
        endif()
        set(VBN_PC_${name} "${folder}" PARENT_SCOPE)
    endforeach()
    set(VBN_PC_PREFIX "${VBN_PC_PREFIX}" PARENT_SCOPE)
endfunction()

function(vbn_install_pc)
    vbn_describe_needs()
    vbn_pc_folders()
    set(names vbn-static)
    if(TARGET vbn_shared)
        list(APPEND names vbn)
    endif()
    foreach(name ${names})
        configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/package/${name}.pc @ONLY)
        install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
endfunction()

# The installed libvbn.a is one object in which all but vbn_* is local, so that no function of a program can meet an inner one of
# the same name. Sanitizers want their objects as they are.
function(vbn_hide_inner_names)
    if(VBN_SANITIZE OR NOT CMAKE_OBJCOPY)
        return()
    endif()
    set(folder "${CMAKE_INSTALL_LIBDIR}")
    if(NOT IS_ABSOLUTE "${folder}")
        set(folder "\${CMAKE_INSTALL_PREFIX}/${folder}")
    endif()
    install(CODE "
        set(archive \"\$ENV{DESTDIR}${folder}/$<TARGET_FILE_NAME:vbn>\")
        set(object \"\${archive}.o\")
        execute_process(COMMAND \"${CMAKE_C_COMPILER}\" -r -nostdlib -o \"\${object}\"
                                -Wl,--whole-archive \"\${archive}\" -Wl,--no-whole-archive COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --wildcard \"--keep-global-symbol=vbn_*\" \"\${object}\"
                        COMMAND_ERROR_IS_FATAL ANY)
        file(REMOVE \"\${archive}\")
        execute_process(COMMAND \"${CMAKE_AR}\" qcs \"\${archive}\" \"\${object}\" COMMAND_ERROR_IS_FATAL ANY)
        file(REMOVE \"\${object}\")")
endfunction()

# find_package(vbn): targets vbn::vbn (shared) and vbn::vbn_static, each in an export of its own, as each may be missing.
function(vbn_install_package)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/vbn)
    set_target_properties(vbn PROPERTIES EXPORT_NAME vbn_static)
    target_link_libraries(vbn INTERFACE
        "$<INSTALL_INTERFACE:OpenSSL::SSL;OpenSSL::Crypto;lz4;zstd;Threads::Threads;${CMAKE_DL_LIBS}>")
    install(TARGETS vbn EXPORT vbnStatic ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    vbn_hide_inner_names()
    set(libraries vbn)
    set(exports vbnStatic)
    if(TARGET vbn_shared)
        set_target_properties(vbn_shared PROPERTIES EXPORT_NAME vbn)
        install(TARGETS vbn_shared EXPORT vbnShared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
        list(APPEND libraries vbn_shared)
        list(APPEND exports vbnShared)
    endif()
    if(VBN_SANITIZE)
        foreach(library ${libraries})
            target_link_options(${library} INTERFACE $<INSTALL_INTERFACE:-fsanitize=${VBN_SANITIZE}>)
        endforeach()
    endif()
    foreach(export ${exports})
        install(EXPORT ${export} NAMESPACE vbn:: FILE ${export}.cmake DESTINATION ${folder})
    endforeach()
    include(CMakePackageConfigHelpers)
    write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/package/vbnConfigVersion.cmake
                                     COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/cmake/vbnConfig.cmake
                  ${CMAKE_CURRENT_BINARY_DIR}/package/vbnConfigVersion.cmake DESTINATION ${folder})
endfunction()

function(vbn_install)
    vbn_install_package()
    vbn_install_pc()
    install(DIRECTORY include/vbn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(FILES ${VBN_GEN}/settings.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
    install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
    if(TARGET vbnjni)
        install(TARGETS vbnjni LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT jni)
    endif()
endfunction()
