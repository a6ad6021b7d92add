# What `cmake --install` copies: headers, libdsakit, the CLI, plugins (dsakit_add_plugin() adds those) and what
# find_package(dsakit) needs, the build tool of dsakit_add_plugin() included. The installed tree may be moved.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dsakit)

install(TARGETS dsakit dsakit_program dsakit_abi dsakit_manifest_tool EXPORT dsakitTargets)
install(DIRECTORY core/include/dsakit TYPE INCLUDE)
install(DIRECTORY sdk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dsakit FILES_MATCHING PATTERN "*.hpp" PATTERN "conformance" EXCLUDE)
install(DIRECTORY examples/toy_backend examples/models DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

install(EXPORT dsakitTargets NAMESPACE dsakit:: DESTINATION ${package_dir})
configure_package_config_file(cmake/dsakitConfig.cmake.in dsakitConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS DSAKIT_PLUGIN_INSTALL_DIR)
write_basic_package_version_file(dsakitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dsakitConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/dsakitConfigVersion.cmake
              cmake/DsakitAddPlugin.cmake cmake/DsakitEvidence.cmake cmake/plugin.map cmake/plugin_note.S.in
        DESTINATION ${package_dir})
install(FILES README.md CONTRIBUTING.md LICENSE TYPE DOC)
install(DIRECTORY docs TYPE DOC)
