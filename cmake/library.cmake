# SPDX-License-Identifier: Apache-2.0
# libdomaindex.so: the room lib as a shared library. Its exports are what lib/domaindex.map lists; all else of the tree is
# hidden in it. pkg-config and find_package(domaindex) find what `cmake --install` puts in place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(DX_LIBRARY_ABI 1) # DOMAINDEX_ABI of lib/domaindex.h

add_library(libdomaindex SHARED $<TARGET_OBJECTS:dx_lib>)
set_target_properties(libdomaindex PROPERTIES OUTPUT_NAME domaindex SOVERSION ${DX_LIBRARY_ABI}
    VERSION ${DX_LIBRARY_ABI}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH} EXPORT_NAME domaindex
    LINKER_LANGUAGE C LINK_DEPENDS ${CMAKE_SOURCE_DIR}/lib/domaindex.map)
target_link_libraries(libdomaindex PRIVATE dx_lib)
target_link_options(libdomaindex PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/lib/domaindex.map)
if(NOT DX_SANITIZE AND NOT DX_FUZZ)
    target_link_options(libdomaindex PRIVATE -Wl,-z,defs)
endif()
target_include_directories(libdomaindex INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/lib>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The program of the manual, built as a stranger's would be: from the header and the shared library alone.
if(DX_TESTS AND NOT DX_FUZZ)
    add_executable(library_example packaging/library_example.c)
    target_link_libraries(library_example PRIVATE libdomaindex)
    if(DX_SANITIZE)
        target_compile_options(library_example PRIVATE -fsanitize=${DX_SANITIZE} -g)
        target_link_options(library_example PRIVATE -fsanitize=${DX_SANITIZE})
    endif()
endif()

install(TARGETS libdomaindex EXPORT domaindex LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES lib/domaindex.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT domaindex NAMESPACE domaindex:: FILE domaindex-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/domaindex)
file(CONFIGURE OUTPUT domaindex-config.cmake CONTENT "include(\${CMAKE_CURRENT_LIST_DIR}/domaindex-targets.cmake)\n" @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/domaindex-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/domaindex-config.cmake ${CMAKE_BINARY_DIR}/domaindex-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/domaindex)

# pkg-config: paths follow from where the file lies, so that `cmake --install --prefix` may say another one than the build.
file(CONFIGURE OUTPUT domaindex.pc @ONLY CONTENT [[prefix=${pcfiledir}/../..
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: domaindex
Description: @PROJECT_DESCRIPTION@
Version: @DX_RELEASE@
Libs: -L${libdir} -ldomaindex
Cflags: -I${includedir}
]])
install(FILES ${CMAKE_BINARY_DIR}/domaindex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
