# SPDX-License-Identifier: MIT
# Read by cpack once for each kind of package: what differs between them.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_COMPONENTS_ALL program debian)
  # CPack could ask dpkg-shlibdeps, too, but would first look at each of the 500 files of the console: 20 s.
  file(MAKE_DIRECTORY ${CPACK_PACKAGE_DIRECTORY}/shlibdeps/debian)
  file(WRITE ${CPACK_PACKAGE_DIRECTORY}/shlibdeps/debian/control "")
  execute_process(COMMAND dpkg-shlibdeps -O -e${CPACK_SHARDWHEEL_PROGRAM}
    WORKING_DIRECTORY ${CPACK_PACKAGE_DIRECTORY}/shlibdeps OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "shlibs:Depends=([^\n]*)" libraries "${libraries}")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, tzdata, ${CMAKE_MATCH_1}")
else()
  set(CPACK_COMPONENTS_ALL program tarball)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_PACKAGE_FILE_NAME
    "shardwheel-${CPACK_PACKAGE_VERSION}-linux-${CPACK_DEBIAN_PACKAGE_ARCHITECTURE}")
endif()
