# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts in place: programs, manual pages, documents, an example of settings.
# The manual pages are printed by the programs themselves, from the tables that parse their options.
include(GNUInstallDirs)

set(pages)
function(dx_manual program section)
    set(page ${CMAKE_BINARY_DIR}/man/${program}.${section})
    add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND sh -c "\"$0\" \"$@\" > '${page}.tmp' && mv '${page}.tmp' '${page}'"
                $<TARGET_FILE:${program}> ${ARGN}
        DEPENDS ${program}
        COMMENT "Manual page ${program}(${section})"
        VERBATIM)
    set(pages ${pages} ${page} PARENT_SCOPE)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endfunction()

if(TARGET domaindex)
    install(TARGETS domaindex RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    dx_manual(domaindex 1 help --man)
endif()
if(TARGET domaindexd)
    # A daemon, but one that a user may run: no sbin.
    install(TARGETS domaindexd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    dx_manual(domaindexd 8 --man)
endif()
# Under sanitizers a program that prints its manual is slow and proves nothing new.
if(pages AND NOT DX_FUZZ)
    add_custom_target(man ALL DEPENDS ${pages})
endif()

file(GLOB documents ${CMAKE_SOURCE_DIR}/docs/*.md ${CMAKE_SOURCE_DIR}/docs/*.json)
install(FILES README.md LICENSE ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES config/domaindexd.conf.example DESTINATION ${CMAKE_INSTALL_DOCDIR})
