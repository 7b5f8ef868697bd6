# Cross build with the NDK (r26 or newer) in ANDROID_NDK_HOME: preset android, docs/guide/phone.md.
if(NOT EXISTS "$ENV{ANDROID_NDK_HOME}/build/cmake/android.toolchain.cmake")
  if("$ENV{ANDROID_NDK_HOME}" STREQUAL "")
    set(found "none")
  else()
    set(found "no build/cmake/android.toolchain.cmake in $ENV{ANDROID_NDK_HOME}")
  endif()
  # The space in front keeps CMake from breaking the line.
  message(FATAL_ERROR " preset android: expected the NDK's folder in the environment's ANDROID_NDK_HOME, found ${found}")
endif()
set(ANDROID_ABI arm64-v8a CACHE STRING "")
set(ANDROID_PLATFORM android-26 CACHE STRING "")
include("$ENV{ANDROID_NDK_HOME}/build/cmake/android.toolchain.cmake")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Finds CMake packages of the host's header-only libraries.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# The NDK's compiler does not look for their headers. The folder has links to them alone, because the host's include
# folder belongs to another C library.
set(codl_headers "${CMAKE_BINARY_DIR}/host_headers")
if(NOT CMAKE_BINARY_DIR MATCHES "/CMakeTmp|/TryCompile")
  file(MAKE_DIRECTORY "${codl_headers}")
  foreach(name flatbuffers hwy CL xxhash.h)
    if(NOT EXISTS "/usr/include/${name}")
      message(FATAL_ERROR " preset android: expected /usr/include/${name} (cmake/debian_packages.sh build), found none")
    endif()
    file(CREATE_LINK "/usr/include/${name}" "${codl_headers}/${name}" SYMBOLIC)
  endforeach()
endif()
list(APPEND CMAKE_C_STANDARD_INCLUDE_DIRECTORIES "${codl_headers}")
list(APPEND CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${codl_headers}")
