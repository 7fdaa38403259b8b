# SPDX-License-Identifier: Apache-2.0
# One library per folder. What a folder may link is what it may include; tests/check_includes
# holds the same rule for #include lines.
#
#   4   server                                builder          never meet
#   3   query                                    |
#   2   loader                                   |
#   1   format  canon  parquet  cache  fetch  config           none includes another
#   0   base

function(dx_layer folder)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.c)
    list(FILTER sources EXCLUDE REGEX "/(domaindex|domaindexd)\\.c$")
    if(NOT sources)
        add_library(dx_${folder} INTERFACE)
        target_link_libraries(dx_${folder} INTERFACE dx_flags ${ARGN})
        return()
    endif()
    add_library(dx_${folder} STATIC ${sources})
    target_link_libraries(dx_${folder} PUBLIC dx_flags ${ARGN})
endfunction()

# The one file that knows. Its object may be put in front of the libraries instead (tests/).
if(DX_HASH_BITS)
    message(WARNING "ids of ${DX_HASH_BITS} bits: for tests only, other programs cannot read these versions")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/base/id_hash.c PROPERTIES
        COMPILE_DEFINITIONS DX_HASH_BITS=${DX_HASH_BITS})
endif()

dx_layer(base PkgConfig::libxxhash Threads::Threads)
dx_layer(canon dx_base PkgConfig::libpsl)
dx_layer(format dx_base PkgConfig::libzstd PkgConfig::jansson ${ROARING_LIBRARY} m)
dx_layer(parquet dx_base PkgConfig::libzstd ZLIB::ZLIB ${SNAPPY_LIBRARY} PkgConfig::liblz4
         PkgConfig::libbrotlidec)
dx_layer(cache dx_base)
dx_layer(fetch dx_base PkgConfig::libcurl PkgConfig::libcrypto PkgConfig::jansson PkgConfig::libevent
         PkgConfig::librabbitmq PkgConfig::libpq)
dx_layer(config dx_base PkgConfig::inih)
dx_layer(loader dx_format dx_canon dx_parquet dx_cache dx_fetch dx_config)
dx_layer(query dx_loader)
dx_layer(server dx_query PkgConfig::libevent PkgConfig::libevent_pthreads PkgConfig::libseccomp)
dx_layer(builder dx_query)

if(EXISTS ${CMAKE_SOURCE_DIR}/builder/domaindex.c)
    add_executable(domaindex builder/domaindex.c)
    target_link_libraries(domaindex PRIVATE dx_builder)
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/server/domaindexd.c)
    add_executable(domaindexd server/domaindexd.c)
    target_link_libraries(domaindexd PRIVATE dx_server)
endif()
