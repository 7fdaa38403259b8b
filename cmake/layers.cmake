# SPDX-License-Identifier: Apache-2.0
# One library per room, and the only list of who may use whom: a room links what its line names, and
# tests/check_includes.py reads the same lines for the #include rule. Lines stand in order: a room names
# only rooms above its line, so arrows go down only.
#
#   5   lib                                                    the shared library: uses server/routes
#   4   server/*                              builder/*        never meet
#   3   query/*                                  |
#   2   loader  loader/*                         |             used by query, server, builder
#   1   format/*  canon  parquet  cache  fetch  fetch/store  config    none includes another
#   0   base  base/command  base/crypto
#
# dx_room(FOLDER [ROOM...] [LIBRARIES LIBRARY...])

function(dx_room folder)
    cmake_parse_arguments(room "" "" "LIBRARIES" ${ARGN})
    string(REPLACE "/" "_" name ${folder})
    list(TRANSFORM room_UNPARSED_ARGUMENTS PREPEND dx_)
    list(TRANSFORM room_UNPARSED_ARGUMENTS REPLACE "/" "_")
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.c)
    list(FILTER sources EXCLUDE REGEX "/(domaindex|domaindexd|domaindex_front|no_remote)\\.c$") # of programs, see below
    add_library(dx_${name} STATIC ${sources})
    target_link_libraries(dx_${name} PUBLIC ${room_UNPARSED_ARGUMENTS} dx_flags ${room_LIBRARIES})
endfunction()

# The one file that knows. Its object may be put in front of the libraries instead (tests/).
if(DX_HASH_BITS)
    message(WARNING "ids of ${DX_HASH_BITS} bits: for tests only, other programs cannot read these versions")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/base/id_hash.c PROPERTIES
        COMPILE_DEFINITIONS DX_HASH_BITS=${DX_HASH_BITS})
endif()

# Called where the processor has AVX2 (base/hash_wide.h).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/base/hash_wide.c PROPERTIES COMPILE_OPTIONS -mavx2)
endif()

set_source_files_properties(${CMAKE_SOURCE_DIR}/base/release.c PROPERTIES COMPILE_DEFINITIONS DX_RELEASE="${DX_RELEASE}")

# What --version prints. The reflog grows with each commit, and a build then configures again.
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM)
    execute_process(COMMAND ${GIT_PROGRAM} -C ${CMAKE_SOURCE_DIR} describe --always --dirty --abbrev=12
        OUTPUT_VARIABLE DX_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT_PROGRAM} -C ${CMAKE_SOURCE_DIR} rev-parse --path-format=absolute --git-path logs/HEAD
        OUTPUT_VARIABLE git_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(EXISTS "${git_log}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${git_log})
    endif()
endif()
if(NOT DX_COMMIT) # a source archive: `git archive` has written the commit
    file(READ ${CMAKE_SOURCE_DIR}/cmake/commit.txt archived)
    string(REGEX MATCH "^[0-9a-f]+" DX_COMMIT "${archived}")
endif()
if(DX_COMMIT)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/loader/build_info.c PROPERTIES
        COMPILE_DEFINITIONS DX_COMMIT="${DX_COMMIT}")
endif()

dx_room(base LIBRARIES PkgConfig::libzstd PkgConfig::libxxhash PkgConfig::jansson Threads::Threads)
dx_room(base/command base)
dx_room(base/crypto base LIBRARIES PkgConfig::libcrypto)

dx_room(canon base LIBRARIES PkgConfig::libpsl)
dx_room(parquet base LIBRARIES PkgConfig::libzstd ZLIB::ZLIB PkgConfig::libdeflate PkgConfig::liblz4 PkgConfig::libbrotlidec)
dx_room(cache base)
dx_room(fetch base/crypto LIBRARIES PkgConfig::libcurl PkgConfig::libcrypto PkgConfig::libevent)
dx_room(fetch/store fetch LIBRARIES PkgConfig::expat)
dx_room(config base/command)
dx_room(format/core base LIBRARIES PkgConfig::libzstd ${ROARING_LIBRARY} m)
dx_room(format/text base)
dx_room(format/version format/core)
dx_room(format/root format/version)
dx_room(format/exchange base/crypto LIBRARIES PkgConfig::libzstd)

dx_room(loader/guard base)
dx_room(loader/followed loader/guard format/root canon fetch)
dx_room(loader loader/followed fetch/store format/text parquet cache config)

dx_room(query/formats canon parquet)
dx_room(query/view loader LIBRARIES PkgConfig::libpcre2_8)
dx_room(query/rows query/view)
dx_room(query/suppression query/rows)
dx_room(query/scan query/suppression)
dx_room(query/answers query/scan)
dx_room(query/changes query/answers)
dx_room(query/cdx query/answers)
dx_room(query/foreign query/answers)
dx_room(query/range query/answers)

dx_room(server/http query/view LIBRARIES PkgConfig::libzstd PkgConfig::libdeflate ZLIB::ZLIB)
include(${CMAKE_SOURCE_DIR}/cmake/web.cmake)
dx_room(server/policy server/http)
dx_room(server/tls base/crypto LIBRARIES PkgConfig::libssl)
dx_room(server/follow query/suppression server/tls)
dx_room(server/routes server/http query/formats query/changes query/cdx query/foreign query/range)
# openapi_base.json is part of the program, with the version of the project in it.
set(openapi_base ${CMAKE_SOURCE_DIR}/server/routes/openapi_base.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${openapi_base})
file(READ ${openapi_base} openapi_text)
string(CONFIGURE "${openapi_text}" openapi_text @ONLY)
string(HEX "${openapi_text}" openapi_text)
string(REGEX REPLACE "(..)" "0x\\1," openapi_text "${openapi_text}")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/openapi_base.c
     CONTENT "extern const char dx_openapi_base[];\nconst char dx_openapi_base[] = { ${openapi_text}0 };\n")
target_sources(dx_server_routes PRIVATE ${CMAKE_BINARY_DIR}/openapi_base.c)
dx_room(server/observe server/policy server/routes)
dx_room(server/cache server/routes)
dx_room(server/engine server/cache server/observe server/tls LIBRARIES PkgConfig::libevent PkgConfig::libevent_pthreads)
dx_room(server/process server/engine server/follow LIBRARIES PkgConfig::libseccomp)
dx_room(lib server/routes)

dx_room(builder/root loader)
dx_room(builder/sort builder/root)
dx_room(builder/input/bytes builder/root LIBRARIES ZLIB::ZLIB PkgConfig::libdeflate BZip2::BZip2 PkgConfig::liblzma)
dx_room(builder/input/records builder/input/bytes)
dx_room(builder/input/parquet builder/input/records)
dx_room(builder/input/archive builder/input/records)
dx_room(builder/input/located builder/input/parquet builder/input/archive)
dx_room(builder/input/files builder/input/parquet builder/input/archive)
dx_room(builder/lake builder/root)
dx_room(builder/policy builder/lake)
dx_room(builder/scan builder/lake builder/sort)
dx_room(builder/index builder/scan)
dx_room(builder/publish builder/index builder/policy query/answers)
dx_room(builder/ingest builder/input/files builder/lake builder/sort)
dx_room(builder/maintain builder/publish)
dx_room(builder/check builder/scan builder/input/located query/rows)
dx_room(builder/exchange/numbers builder/policy builder/sort)
dx_room(builder/exchange/filestore builder/ingest builder/policy)
dx_room(builder/exchange/postgres builder/exchange/numbers format/exchange LIBRARIES PkgConfig::libpq)
dx_room(builder/exchange/queue builder/lake format/exchange LIBRARIES PkgConfig::librabbitmq)
dx_room(builder/load base LIBRARIES m PkgConfig::libssl PkgConfig::libcrypto)
dx_room(builder/cli builder/load builder/input/located builder/check builder/maintain builder/exchange/filestore builder/exchange/postgres
        builder/exchange/queue query/changes)

# All commands are one program, and what people call `domaindex` another one, which starts it. The objects of the second
# stand before the libraries, so what no_remote.c has is not taken from fetch/, and what only that needs is not loaded.
add_executable(domaindex_all builder/cli/domaindex.c)
set_target_properties(domaindex_all PROPERTIES OUTPUT_NAME domaindex RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/domaindex)
target_link_libraries(domaindex_all PRIVATE dx_builder_cli)
add_executable(domaindex builder/cli/domaindex_front.c builder/cli/no_remote.c)
if(NOT DX_SANITIZE) # libc before the others: a start looks for most symbols there, and in each library in front of it
    target_link_libraries(domaindex PRIVATE c)
endif()
target_link_libraries(domaindex PRIVATE dx_builder_cli)
target_link_options(domaindex PRIVATE -Wl,--as-needed)
add_dependencies(domaindex domaindex_all)
add_executable(domaindexd server/process/domaindexd.c)
target_link_libraries(domaindexd PRIVATE dx_server_process)

# The sanitizer presets compile without optimisation, in a third of the time, except for these rooms: tests spend most of their CPU time in them.
if(DX_SANITIZE AND NOT DX_FUZZ)
    foreach(room base base_crypto canon parquet format_core format_text format_version format_root format_exchange builder_sort
                 builder_lake builder_scan builder_index)
        target_compile_options(dx_${room} PRIVATE -O1)
    endforeach()
endif()
