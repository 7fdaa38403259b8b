# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts in place: programs, manual pages, completions, documents, an example of settings.
# The programs print manual pages and completions, from the tables that parse their options.
include(GNUInstallDirs)
set(DX_ZSH_FOLDER zsh/site-functions CACHE STRING "where zsh finds completions, below share/; of Debian's packages zsh/vendor-completions")


# dx_printed(FILE FOLDER PROGRAM ARGUMENT...): what the program prints with the arguments, as a file below the folder.
set(printed)
function(dx_printed name folder program)
    set(path ${CMAKE_BINARY_DIR}/printed/${folder}/${name})
    get_filename_component(parent ${path} DIRECTORY)
    # A program of another machine runs in the emulator, and starts no other one there.
    set(printer ${program})
    if(CMAKE_CROSSCOMPILING AND TARGET ${program}_all)
        set(printer ${program}_all)
    endif()
    add_custom_command(OUTPUT ${path}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${parent}
        COMMAND sh -c "\"$0\" \"$@\" > '${path}.tmp' && mv '${path}.tmp' '${path}'"
                ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${printer}> ${ARGN}
        DEPENDS ${program} $<TARGET_NAME_IF_EXISTS:${program}_all>
        COMMENT "${name}"
        VERBATIM)
    set(printed ${printed} ${path} PARENT_SCOPE)
    install(FILES ${path} DESTINATION ${folder})
endfunction()

if(TARGET domaindex)
    install(TARGETS domaindex RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(TARGETS domaindex_all RUNTIME DESTINATION libexec/domaindex) # where domaindex looks for it
    dx_printed(domaindex.1 ${CMAKE_INSTALL_MANDIR}/man1 domaindex help --man)
    file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/builder/cli/cmd_*.c)
    foreach(command ${commands})
        get_filename_component(command ${command} NAME_WE)
        string(REPLACE "cmd_" "" command ${command})
        string(REPLACE "_" "-" command ${command})
        dx_printed(domaindex-${command}.1 ${CMAKE_INSTALL_MANDIR}/man1 domaindex help --man ${command})
    endforeach()
    dx_printed(domaindex ${CMAKE_INSTALL_DATADIR}/bash-completion/completions domaindex completion bash)
    dx_printed(_domaindex ${CMAKE_INSTALL_DATADIR}/${DX_ZSH_FOLDER} domaindex completion zsh)
    dx_printed(domaindex.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d domaindex completion fish)
endif()
if(TARGET domaindexd)
    # A daemon, but one that a user may run: no sbin.
    install(TARGETS domaindexd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    dx_printed(domaindexd.8 ${CMAKE_INSTALL_MANDIR}/man8 domaindexd --man)
    dx_printed(domaindexd ${CMAKE_INSTALL_DATADIR}/bash-completion/completions domaindexd --completion bash)
    dx_printed(_domaindexd ${CMAKE_INSTALL_DATADIR}/${DX_ZSH_FOLDER} domaindexd --completion zsh)
    dx_printed(domaindexd.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d domaindexd --completion fish)
endif()
if(printed AND NOT DX_FUZZ)
    add_custom_target(printed ALL DEPENDS ${printed})
endif()

# The tree of links in the documents, as it is here: what they link to stands beside them.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES js/README.md js/index.js js/index.d.ts js/types.d.ts js/package.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/js)
install(DIRECTORY docs packaging DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN systemd EXCLUDE PATTERN debian EXCLUDE)
install(DIRECTORY bench DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.json" PATTERN load EXCLUDE PATTERN peers EXCLUDE PATTERN support EXCLUDE)
install(FILES config/domaindexd.conf.example DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES lib/domaindex.h DESTINATION ${CMAKE_INSTALL_DOCDIR}/lib)

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
# logrotate reads /etc/logrotate.d: of another prefix a link there is needed.
install(FILES packaging/logrotate/domaindexd DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/logrotate.d)
install(FILES packaging/systemd/domaindex.sysusers DESTINATION lib/sysusers.d RENAME domaindex.conf)
install(FILES packaging/systemd/domaindex.tmpfiles DESTINATION lib/tmpfiles.d RENAME domaindex.conf)
