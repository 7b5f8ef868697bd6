# Target codl_aar: codl.aar, an archive for Android apps. It has the classes of examples/java, a libcodl_jni.so with the
# whole runtime in it, and the manifest. The preset android makes one for phones; aarch64's has Debian's C library, for
# tests of the archive. It needs a JDK of the host.
find_program(CODL_JAVAC javac)
if(NOT CODL_JAVAC)
  add_custom_target(codl_aar COMMAND ${CMAKE_COMMAND} -E echo "codl_aar: expected javac (a JDK), found none"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  return()
endif()

set(java ${PROJECT_SOURCE_DIR}/examples/java)
set(aar ${PROJECT_BINARY_DIR}/aar)
file(GLOB classes CONFIGURE_DEPENDS ${java}/codl/*.java)

# One library, so that nothing depends on how Android finds another's.
add_library(codl_jni SHARED EXCLUDE_FROM_ALL ${java}/codl_jni.c)
set_target_properties(codl_jni PROPERTIES LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${aar}/jni/arm64-v8a)
target_link_libraries(codl_jni PRIVATE codl_flags codl_runtime)
target_link_options(codl_jni PRIVATE -Wl,--gc-sections,--exclude-libs,ALL,-s -Wl,-z,max-page-size=16384)
if(NOT ANDROID) # the NDK has JNI's header
  file(REAL_PATH ${CODL_JAVAC} javac)
  cmake_path(GET javac PARENT_PATH jdk)
  find_path(CODL_JNI_INCLUDE_DIR jni.h PATHS ${jdk}/../include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  target_include_directories(codl_jni PRIVATE ${CODL_JNI_INCLUDE_DIR} ${CODL_JNI_INCLUDE_DIR}/linux)
endif()

file(CONFIGURE OUTPUT ${aar}/AndroidManifest.xml @ONLY CONTENT
[[<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="codl.runtime" android:versionName="@PROJECT_VERSION@">
  <uses-sdk android:minSdkVersion="26"/>
  <application>
    <uses-native-library android:name="libOpenCL.so" android:required="false"/>
    <uses-native-library android:name="libOpenCL-pixel.so" android:required="false"/>
  </application>
</manifest>
]])
file(WRITE ${aar}/R.txt "")
# The library finds classes, fields and methods by their names.
file(WRITE ${aar}/proguard.txt "-keep class codl.** { *; }\n")

# Equal files have equal bytes: every entry has the same time.
set(zip ${CMAKE_COMMAND} -E tar c)
set(as_zip --format=zip --mtime=1980-01-02)
add_custom_command(OUTPUT codl.aar
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${aar}/classes ${PROJECT_BINARY_DIR}/codl.aar
  COMMAND ${CODL_JAVAC} --release 8 -Xlint:-options -d ${aar}/classes ${classes}
  COMMAND ${CMAKE_COMMAND} -E chdir ${aar}/classes ${zip} ../classes.jar ${as_zip} codl
  COMMAND ${CMAKE_COMMAND} -E chdir ${aar} ${zip} ${PROJECT_BINARY_DIR}/codl.aar ${as_zip}
    AndroidManifest.xml R.txt classes.jar proguard.txt jni
  DEPENDS codl_jni ${classes} VERBATIM)
add_custom_target(codl_aar DEPENDS codl.aar)
