# SPDX-License-Identifier: Apache-2.0
# Libraries, all from Debian packages (scripts/packages.txt).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
foreach(module libzstd libxxhash libpcre2-8 libpsl jansson libcurl libcrypto libssl libevent libevent_pthreads
               libbrotlidec libdeflate liblz4 liblzma libseccomp librabbitmq libpq expat)
    string(MAKE_C_IDENTIFIER ${module} name)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
endforeach()

# Debian ships no .pc file for these two. Snappy is for a test, which compares parquet/snappy.h with it.
find_path(ROARING_INCLUDE roaring/roaring.h REQUIRED)
find_library(ROARING_LIBRARY roaring REQUIRED)
if(DX_TESTS)
    find_path(SNAPPY_INCLUDE snappy-c.h REQUIRED)
    find_library(SNAPPY_LIBRARY snappy REQUIRED)
endif()
