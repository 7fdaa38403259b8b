# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
foreach(program domaindex domaindexd)
    if(TARGET ${program})
        install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endforeach()
