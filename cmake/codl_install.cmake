# Installs files besides the targets, and makes the Debian packages: cmake --install, or cpack -G DEB in the build
# folder.
#
# A component is a package: compiler (codl-compiler, of the system that builds), device-tools (codl-tools), runtime
# (libcodl0), development (libcodl-dev).

include(CMakePackageConfigHelpers)
set(codl_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/codl)
configure_package_config_file(cmake/codlConfig.cmake.in ${PROJECT_BINARY_DIR}/codlConfig.cmake
  INSTALL_DESTINATION ${codl_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/codlConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
# CMAKE_PREFIX_PATH may have the host's and the target's package: each is for one processor.
file(APPEND ${PROJECT_BINARY_DIR}/codlConfigVersion.cmake
  "if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL \"\" AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL \"${CMAKE_SYSTEM_PROCESSOR}\")
  set(PACKAGE_VERSION \"\${PACKAGE_VERSION} (${CMAKE_SYSTEM_PROCESSOR})\")
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
")
install(EXPORT codlTargets NAMESPACE codl:: DESTINATION ${codl_package_dir} COMPONENT development)
install(EXPORT codlDeviceToolTargets NAMESPACE codl:: DESTINATION ${codl_package_dir} COMPONENT device-tools)
install(FILES ${PROJECT_BINARY_DIR}/codlConfig.cmake ${PROJECT_BINARY_DIR}/codlConfigVersion.cmake
  cmake/codl_add_plan.cmake DESTINATION ${codl_package_dir} COMPONENT development)

# Finds the way from lib/pkgconfig back to the prefix, wherever that is.
file(RELATIVE_PATH codl_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/codl.pc.in ${PROJECT_BINARY_DIR}/codl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/codl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcodl-dev COMPONENT development)
foreach(package compiler:codl-compiler device-tools:codl-tools runtime:libcodl0 development:libcodl-dev)
  string(REGEX MATCH "(.+):(.+)" ignored ${package})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_2} RENAME copyright
    COMPONENT ${CMAKE_MATCH_1})
endforeach()

set(CPACK_PACKAGE_NAME codl)
set(CPACK_PACKAGE_CONTACT "the codl project <codl@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL device-tools runtime development)
if(CODL_COMPILER)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Set before GNUInstallDirs chooses: under /usr, Debian has a folder per architecture.
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(codl_exact "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME codl-compiler)
# For codl-matrix, codl-diff and codl-check; codl-matrix runs Ninja, and Dask where it is asked to.
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "python3 (>= 3.11), ninja-build")
set(CPACK_DEBIAN_COMPILER_PACKAGE_SUGGESTS "python3-distributed")
set(CPACK_DEBIAN_DEVICE-TOOLS_PACKAGE_NAME codl-tools)
set(CPACK_DEBIAN_DEVICE-TOOLS_PACKAGE_DEPENDS "libcodl0 ${codl_exact}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libcodl0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "ocl-icd-libopencl1")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcodl-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libcodl0 ${codl_exact}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS codl-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# Asks dpkg for the libraries that the programs link, with versions; for another architecture it cannot answer.
if(NOT CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_COMPILER_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= 2.36)")
include(CPack)
