# SPDX-License-Identifier: Apache-2.0
# A library that runs from glibc 2.28 on, built on a host with a newer one. Since 2.34 libc.so.6 holds what libpthread.so.0
# and libdl.so.2 held, under names of version 2.34; the old names stay for old programs, but no linker finds them. Here it finds
# them in libraries of those file names that hold nothing but names. jni/floor has the few functions that 2.28 lacks.
# tests/artifacts looks at the result: a name that is newer than 2.28 fails there, and is added here.

# Names behind their versions on x86_64. On aarch64, which came later, all are of 2.17.
set(VBN_FLOOR_pthread
    GLIBC_2.2.5 pthread_create pthread_join pthread_once pthread_sigmask pthread_key_create pthread_key_delete
    pthread_getspecific pthread_setspecific pthread_mutex_trylock pthread_rwlock_init pthread_rwlock_destroy
    pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock sem_init sem_destroy sem_wait sem_post
    GLIBC_2.3.3 pthread_condattr_setclock)
set(VBN_FLOOR_dl GLIBC_2.2.5 dlopen dlclose dlsym dlvsym dlerror dladdr)

# The linker's version script of one list.
function(vbn_floor_map result names)
    set(map "")
    set(end "")
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
        list(FILTER names EXCLUDE REGEX "^GLIBC_")
        list(PREPEND names GLIBC_2.17)
    endif()
    foreach(name ${names})
        if(name MATCHES "^GLIBC_")
            string(APPEND map "${end}${name} {\n")
            set(end "};\n")
        else()
            string(APPEND map "    ${name};\n")
        endif()
    endforeach()
    set(${result} "${map}${end}" PARENT_SCOPE)
endfunction()

# vbn_floor_<name>: a library of names, called `file`.
function(vbn_floor_names name file)
    set(base ${CMAKE_CURRENT_BINARY_DIR}/floor/${name})
    set(code "")
    foreach(symbol ${VBN_FLOOR_${name}})
        if(NOT symbol MATCHES "^GLIBC_")
            string(APPEND code "void ${symbol}(void);\nvoid ${symbol}(void)\n{\n}\n")
        endif()
    endforeach()
    vbn_floor_map(map "${VBN_FLOOR_${name}}")
    file(CONFIGURE OUTPUT ${base}.c CONTENT "${code}")
    file(CONFIGURE OUTPUT ${base}.map CONTENT "${map}")
    add_library(vbn_floor_${name} SHARED ${base}.c)
    set_target_properties(vbn_floor_${name} PROPERTIES C_VISIBILITY_PRESET default NO_SONAME ON LINK_DEPENDS ${base}.map)
    target_link_options(vbn_floor_${name} PRIVATE -nostdlib -Wl,-soname,${file} -Wl,--version-script=${base}.map)
endfunction()

function(vbn_floor target)
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
        message(STATUS "${target} will need a glibc as new as this host's: the names of 2.28 are known for x86_64 and aarch64")
        return()
    endif()
    vbn_floor_names(pthread libpthread.so.0)
    vbn_floor_names(dl libdl.so.2)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/jni/floor/*.c)
    target_sources(${target} PRIVATE ${sources})
    target_link_libraries(${target} PRIVATE $<TARGET_FILE:vbn_floor_pthread> $<TARGET_FILE:vbn_floor_dl>)
    add_dependencies(${target} vbn_floor_pthread vbn_floor_dl)
    set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON) # never the folder of those
endfunction()
