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
    file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/builder/cli/cmd_*.c)
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

# The tree of links in the documents, as it is here: what they link to stands beside them.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs packaging DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN systemd EXCLUDE)
install(DIRECTORY bench DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.json" PATTERN load EXCLUDE PATTERN peers EXCLUDE PATTERN support EXCLUDE)
install(FILES config/domaindexd.conf.example DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Units, users and folders of systemd; where it looks for those of packages, and of /usr/local. Texts that name a path
# of the installation get the one of the prefix that `cmake --install` was given: it is known only then.
set(unit_templates ${CMAKE_SOURCE_DIR}/packaging/systemd/domaindexd.service.in
                   ${CMAKE_SOURCE_DIR}/packaging/systemd/domaindex-gc.service.in)
install(CODE "
    set(CMAKE_INSTALL_FULL_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
    set(docs \"${CMAKE_INSTALL_DOCDIR}\")
    set(unit_templates \"${unit_templates}\")")
install(CODE [[
    foreach(folder CMAKE_INSTALL_FULL_BINDIR docs)
        if(NOT IS_ABSOLUTE "${${folder}}")
            set(${folder} "${CMAKE_INSTALL_PREFIX}/${${folder}}")
        endif()
    endforeach()
    foreach(template IN LISTS unit_templates)
        get_filename_component(unit ${template} NAME_WLE)
        configure_file(${template} "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}" @ONLY)
    endforeach()
    file(GLOB_RECURSE texts "$ENV{DESTDIR}${docs}/*.md")
    foreach(text IN LISTS texts)
        file(READ "${text}" words)
        string(REPLACE "/usr/share/doc/domaindex" "${docs}" changed "${words}")
        if(NOT changed STREQUAL words)
            file(WRITE "${text}" "${changed}")
        endif()
    endforeach()
]])
install(FILES packaging/systemd/domaindexd.socket packaging/systemd/domaindexd-admin.socket
              packaging/systemd/domaindex-gc.timer DESTINATION lib/systemd/system)
install(FILES packaging/systemd/domaindex.sysusers DESTINATION lib/sysusers.d RENAME domaindex.conf)
install(FILES packaging/systemd/domaindex.tmpfiles DESTINATION lib/tmpfiles.d RENAME domaindex.conf)
