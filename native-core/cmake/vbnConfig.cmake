# SPDX-License-Identifier: Apache-2.0
# find_package(vbn [COMPONENTS shared static]): vbn::vbn is libvbn.so, vbn::vbn_static is libvbn.a with what it needs. Without
# COMPONENTS whatever is installed and usable.
set(vbn_shared_FOUND OFF)
set(vbn_static_FOUND OFF)

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/vbnShared.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/vbnShared.cmake)
    set(vbn_shared_FOUND ON)
endif()

if(NOT vbn_FIND_COMPONENTS OR "static" IN_LIST vbn_FIND_COMPONENTS)
    find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto SSL)
    find_package(Threads QUIET)
    if(OpenSSL_FOUND AND Threads_FOUND)
        include(${CMAKE_CURRENT_LIST_DIR}/vbnStatic.cmake)
        set(vbn_static_FOUND ON)
    endif()
endif()

foreach(_vbn_component ${vbn_FIND_COMPONENTS})
    if(vbn_FIND_REQUIRED_${_vbn_component} AND NOT vbn_${_vbn_component}_FOUND)
        set(vbn_FOUND OFF)
        set(vbn_NOT_FOUND_MESSAGE "vbn has no usable component '${_vbn_component}' here: shared needs libvbn.so in the "
            "installation, static needs OpenSSL 3 with its headers and threads")
        string(CONCAT vbn_NOT_FOUND_MESSAGE ${vbn_NOT_FOUND_MESSAGE})
    endif()
endforeach()
unset(_vbn_component)
