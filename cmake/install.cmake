# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts in place: programs, manual pages, documents, an example of settings.
# The manual pages are printed by the programs themselves, from the tables that parse their options.
include(GNUInstallDirs)

set(pages)
function(dx_manual page_name section program)
    set(page ${CMAKE_BINARY_DIR}/man/${page_name}.${section})
    add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND sh -c "\"$0\" \"$@\" > '${page}.tmp' && mv '${page}.tmp' '${page}'"
                $<TARGET_FILE:${program}> ${ARGN}
        DEPENDS ${program}
        COMMENT "Manual page ${page_name}(${section})"
        VERBATIM)
    set(pages ${pages} ${page} PARENT_SCOPE)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endfunction()

if(TARGET domaindex)
    install(TARGETS domaindex RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    dx_manual(domaindex 1 domaindex help --man)
    file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/builder/cmd_*.c)
    foreach(command ${commands})
        get_filename_component(command ${command} NAME_WE)
        string(REPLACE "cmd_" "" command ${command})
        string(REPLACE "_" "-" command ${command})
        dx_manual(domaindex-${command} 1 domaindex help --man ${command})
    endforeach()
endif()
if(TARGET domaindexd)
    # A daemon, but one that a user may run: no sbin.
    install(TARGETS domaindexd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    dx_manual(domaindexd 8 domaindexd --man)
endif()
if(pages AND NOT DX_FUZZ)
    add_custom_target(man ALL DEPENDS ${pages})
endif()

install(FILES README.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN notes EXCLUDE PATTERN man EXCLUDE)
install(FILES config/domaindexd.conf.example DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Units, users and folders of systemd; where it looks for those of packages, and of /usr/local.
foreach(unit domaindexd.service domaindex-gc.service)
    configure_file(packaging/systemd/${unit}.in ${CMAKE_BINARY_DIR}/systemd/${unit} @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/systemd/${unit} DESTINATION lib/systemd/system)
endforeach()
install(FILES packaging/systemd/domaindexd.socket packaging/systemd/domaindexd-admin.socket
              packaging/systemd/domaindex-gc.timer DESTINATION lib/systemd/system)
install(FILES packaging/systemd/domaindex.sysusers DESTINATION lib/sysusers.d RENAME domaindex.conf)
install(FILES packaging/systemd/domaindex.tmpfiles DESTINATION lib/tmpfiles.d RENAME domaindex.conf)
