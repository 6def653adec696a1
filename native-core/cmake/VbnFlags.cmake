# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags of all targets.
include(CheckCCompilerFlag)
include(CheckIncludeFile)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()
set(VBN_SANITIZE "" CACHE STRING "sanitizers: address,undefined or thread")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # compile_commands.json, for tools/check_clang.py and editors
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)

# Another compiler knows warnings that nobody here has seen: there they stay warnings.
option(VBN_WERROR "warnings are errors, if the compiler is one of VBN_WERROR_COMPILERS" OFF)
set(VBN_WERROR_COMPILERS "GNU 12" "GNU 14" "Clang 14" "Clang 19")

function(vbn_werror language result)
    string(REGEX MATCH "^[0-9]+" major "${CMAKE_${language}_COMPILER_VERSION}")
    set(compiler "${CMAKE_${language}_COMPILER_ID} ${major}")
    set(${result} "" PARENT_SCOPE)
    if(VBN_WERROR AND compiler IN_LIST VBN_WERROR_COMPILERS)
        set(${result} -Werror PARENT_SCOPE)
    elseif(VBN_WERROR)
        message(STATUS "warnings stay warnings: ${compiler} is none of ${VBN_WERROR_COMPILERS}")
    endif()
endfunction()

vbn_werror(C werror_c)
vbn_werror(CXX werror_cxx)
set(VBN_CXX_WARNINGS -Wall -Wextra -Wshadow -Wformat=2 ${werror_cxx})
set(VBN_C_WARNINGS -Wall -Wextra -Wshadow -Wformat=2 ${werror_c} -Wmissing-prototypes -Wconversion)

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-fstack-protector-strong)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# The same bytes from every folder.
option(VBN_PORTABLE "build for other hosts than this one" OFF)
if(VBN_PORTABLE)
    foreach(folder CMAKE_CURRENT_SOURCE_DIR CMAKE_CURRENT_BINARY_DIR) # the second may be inside the first: the last one wins
        add_compile_options(-ffile-prefix-map=${${folder}}=/vbn)
    endforeach()
endif()

# Hardening that not every compiler and processor knows.
foreach(flag -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "VBN_HAS${flag}" known)
    check_c_compiler_flag("-Werror ${flag}" ${known})
    if(${known})
        add_compile_options(${flag})
    endif()
endforeach()

if(VBN_SANITIZE)
    if(NOT VBN_SANITIZE MATCHES "^(address|undefined|thread|address,undefined)$")
        message(FATAL_ERROR "VBN_SANITIZE=${VBN_SANITIZE}: use address,undefined or thread")
    endif()
    add_compile_options(-fsanitize=${VBN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -UNDEBUG)
    # Half the time to compile, and lines in stacks.
    add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-O1;-g1>")
    add_link_options(-fsanitize=${VBN_SANITIZE})
else()
    add_compile_options($<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
    add_link_options(-Wl,--as-needed)
endif()
