# SPDX-License-Identifier: Apache-2.0
# Build options, warnings, hardening and sanitizers.

option(DX_TESTS "build the tests" ON)
option(DX_BENCH "build the benchmarks" ON)
option(DX_FUZZ "build fuzz targets with libFuzzer (clang)" OFF)
# What OSS-Fuzz calls LIB_FUZZING_ENGINE; what instruments the code for it is then in CFLAGS (.clusterfuzzlite/build.sh).
set(DX_FUZZ_ENGINE "" CACHE STRING "what fuzz targets are linked with, by the C++ compiler; empty: clang's libFuzzer")
option(DX_COVERAGE "instrument for coverage" OFF)
option(DX_HARDEN "hardening flags" ON)
option(DX_WERROR "warnings are errors" OFF)
set(DX_HASH_BITS 0 CACHE STRING "for tests: leading bits that ids keep of their hash, 8 to 63; 0: all 64")
set(DX_SANITIZE "" CACHE STRING "value of -fsanitize=, for example address,undefined")

include(CheckCCompilerFlag)
include(CheckLinkerFlag)

# A compiler cache and a fast linker, used where they are installed. Neither changes what is built.
option(DX_CCACHE "compile through ccache if it is installed" ON)
option(DX_MOLD "link with mold if it is installed" ON)
find_program(CCACHE_PROGRAM ccache)
if(DX_CCACHE AND CCACHE_PROGRAM AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(DX_MOLD AND MOLD_PROGRAM)
    check_linker_flag(C -fuse-ld=mold DX_HAS_MOLD)
endif()
add_library(dx_flags INTERFACE)
target_compile_definitions(dx_flags INTERFACE _GNU_SOURCE)
target_include_directories(dx_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(dx_flags INTERFACE
    -Wall -Wextra -Wformat=2 -Wshadow -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough
    -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
    -Werror=format-security -Werror=implicit -Werror=incompatible-pointer-types
    -Werror=int-conversion)
if(DX_MOLD AND DX_HAS_MOLD)
    target_link_options(dx_flags INTERFACE -fuse-ld=mold)
endif()
if(DX_WERROR)
    target_compile_options(dx_flags INTERFACE -Werror)
endif()

function(dx_flag_if_known flag)
    string(MAKE_C_IDENTIFIER "DX_HAS${flag}" name)
    check_c_compiler_flag(${flag} ${name})
    if(${name})
        target_compile_options(dx_flags INTERFACE ${flag})
    endif()
endfunction()

if(DX_SANITIZE)
    target_compile_options(dx_flags INTERFACE -fsanitize=${DX_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    target_link_options(dx_flags INTERFACE -fsanitize=${DX_SANITIZE})
    # Their run times read and write what the server's sandbox forbids.
    target_compile_definitions(dx_flags INTERFACE DX_NO_SANDBOX="a build with -fsanitize=${DX_SANITIZE}")
endif()
if(DX_FUZZ AND NOT DX_FUZZ_ENGINE)
    target_compile_options(dx_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(DX_COVERAGE)
    # clang's, with counters that are a shared mapping of a file (%c): they stay when the process is killed, and forked children
    # count too. One file a program (%m), opened when it starts, before any sandbox. scripts/coverage.py reads them.
    set(profile -fprofile-instr-generate=${CMAKE_BINARY_DIR}/profiles/%c%m.profraw)
    set(counted "$<NOT:$<BOOL:$<TARGET_PROPERTY:DX_UNCOUNTED>>>") # tests are not
    target_compile_options(dx_flags INTERFACE $<${counted}:${profile}> $<${counted}:-fcoverage-mapping>
        "SHELL:$<${counted}:-mllvm -runtime-counter-relocation>")
    target_link_options(dx_flags INTERFACE ${profile})
endif()
# What is built does not depend on where it is built: assertions and debugging information name files from the root of the tree.
# Of several that fit the last one holds: sources of the build folder are made by CMake, and the name of a build folder `build` begins
# `builder`, too.
if(NOT DX_SANITIZE AND NOT DX_COVERAGE AND NOT DX_FUZZ)
    foreach(flag -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=.
                 -ffile-prefix-map=${CMAKE_SOURCE_DIR}/builder/=./builder/)
        target_compile_options(dx_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:${flag}>)
    endforeach()
endif()
if(DX_HARDEN AND NOT DX_SANITIZE)
    # By the processor: clang takes the flag of another one, and then warns for each file.
    set(dx_control_flow -fcf-protection=full)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        set(dx_control_flow -mbranch-protection=standard)
    endif()
    foreach(flag -fstack-protector-strong -fstack-clash-protection ${dx_control_flow}
                 -fstrict-flex-arrays=3 -ftrivial-auto-var-init=zero
                 -fzero-init-padding-bits=all
                 -fno-delete-null-pointer-checks -fno-strict-overflow -fno-strict-aliasing)
        dx_flag_if_known(${flag})
    endforeach()
    target_compile_options(dx_flags INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
    target_link_options(dx_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
        $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-Wl,-z,nodlopen>)
    # A linker marks a program for control flow protection if each of its objects is. All of ours are; a C
    # library's object that starts programs may not be (Debian 12), and is none that anybody jumps to.
    if(DX_HAS_fcf_protection_full)
        check_linker_flag(C -Wl,-z,ibt,-z,shstk DX_HAS_z_shstk)
        if(DX_HAS_z_shstk)
            target_link_options(dx_flags INTERFACE -Wl,-z,ibt,-z,shstk)
        endif()
    endif()
endif()
