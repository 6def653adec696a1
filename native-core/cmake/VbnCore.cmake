# SPDX-License-Identifier: Apache-2.0
# For components that stand on a core built before, in the folder VBN_BUILD, with the same sanitizers.

# The value of a variable in the cache of VBN_BUILD.
function(vbn_core_option result name)
    set(line "")
    if(EXISTS ${VBN_BUILD}/CMakeCache.txt)
        file(STRINGS ${VBN_BUILD}/CMakeCache.txt line REGEX "^${name}:" LIMIT_COUNT 1)
    endif()
    string(REGEX REPLACE "^[^=]*=" "" line "${line}")
    set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Sets VBN_ARCHIVE: libvbn.a of VBN_BUILD. Its objects are position-independent, so that shared libraries take them, too.
function(vbn_core_archive)
    set(archive ${VBN_BUILD}/libvbn.a)
    if(NOT EXISTS ${archive})
        message(FATAL_ERROR "no libvbn.a in VBN_BUILD='${VBN_BUILD}': build native-core there first, with the same VBN_SANITIZE")
    endif()
    vbn_core_option(sanitizers VBN_SANITIZE)
    if(NOT sanitizers STREQUAL VBN_SANITIZE)
        message(FATAL_ERROR "VBN_BUILD='${VBN_BUILD}' has VBN_SANITIZE='${sanitizers}', and this build '${VBN_SANITIZE}'")
    endif()
    set(VBN_ARCHIVE ${archive} PARENT_SCOPE)
endfunction()
