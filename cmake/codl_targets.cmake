# Compiler flags live here and nowhere else.
#
#   codl_library(NAME SOURCES...)          host side: C++20, no exceptions leave frontend/
#   codl_runtime_library(NAME SOURCES...)  device side: no exceptions, no RTTI, hidden symbols
#   codl_tool(NAME SOURCES...)             executable in build/<preset>/bin
#   codl_portable_tool(NAME SOURCES...)    the same, but it also runs on devices
#   codl_test(NAME SOURCES... )            Catch2 executable, registered with ctest
#   codl_uses_llvm_json(SOURCES...)        files of the calling folder that include llvm/Support/JSON.h

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CODL_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

find_program(CODL_CCACHE ccache)
if(CODL_CCACHE)
  # ccache's manual asks for this where headers are precompiled.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${CODL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

add_library(codl_flags INTERFACE)
target_include_directories(codl_flags INTERFACE ${PROJECT_SOURCE_DIR} ${CODL_GENERATED_DIR})
target_compile_options(codl_flags INTERFACE
  -Wall -Wextra -Wshadow -Wmissing-field-initializers -Werror=unused-result
  # g++ 12 gives the first warning inside LLVM 14's headers, although nothing is uninitialised, and the second inside
  # std::string's operator+ when optimising (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # g++ otherwise collects garbage from 128 MB on, which takes a seventh of its time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=614400>
  # So folding, packing and the reference kernels give the same bits on every host.
  -ffp-contract=off)
# g++ gives wrong warnings about code that sanitizers have instrumented (GCC's manual says so of -fsanitize).
if(CODL_WERROR AND NOT CODL_SANITIZE)
  target_compile_options(codl_flags INTERFACE -Werror)
endif()
# A directory's options come before those of its targets, which take out what they do not want; options of codl_flags
# would come after them.
if(CODL_SANITIZE)
  # A null pointer that is read or written ends the program without a check of its own; the checks take a sixth of a
  # build's time.
  add_compile_options(-fsanitize=${CODL_SANITIZE} -fno-sanitize=null -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CODL_SANITIZE})
  if(CODL_SANITIZE MATCHES address)
    target_sources(codl_flags INTERFACE
      $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${PROJECT_SOURCE_DIR}/test/support/leaks.cc>)
  endif()
endif()

# Release binaries are hardened, so that a fault is harder to use (SECURITY.md; test/arch/check_hardening.sh). Tests are
# not: FORTIFY needs optimised code.
set(CODL_HARDENING "")
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT CODL_SANITIZE)
  set(CODL_HARDENING -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()

if(CODL_FUZZ)  # coverage for libFuzzer; the fuzzed programs link its main
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# LLVM 14's JSON.h has a vector of an incomplete type, which Clang refuses where vectors are constexpr.
function(codl_uses_llvm_json)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-std=c++17;-Wno-c++20-extensions"
      SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Code of the host: g++ takes a sixth longer with -O3, and codlc is no faster; with -O1 it takes a third less.
set(CODL_HOST_OPTIMIZE -O2)
if(CODL_TO_RUN_HERE)
  set(CODL_HOST_OPTIMIZE -O1)
endif()

function(codl_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE codl_flags)
  target_compile_options(${name} PRIVATE ${CODL_HARDENING} $<$<CONFIG:Release>:${CODL_HOST_OPTIMIZE}>)
endfunction()

function(codl_runtime_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE codl_flags)
  target_compile_options(${name} PRIVATE ${CODL_HARDENING}
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
    -fvisibility=hidden -ffunction-sections -fdata-sections)
endfunction()

# codl_precompile(NAME HEADERS...) precompiles headers of others that most files of a target include; this halves the
# compile time. Ours stay out: where only a comment changed, ccache finds the precompiled file of before, and g++ takes a
# header with #pragma once for another one. codl_precompile(NAME REUSE_FROM OTHER) takes those of another target. The
# warnings are off because g++ 12, when it inlines from a precompiled <string>, reports copies of more than 2^63 bytes
# that do not exist.
function(codl_precompile name)
  if(ARGV1 STREQUAL REUSE_FROM)
    target_precompile_headers(${name} ${ARGN})
  else()
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache needs it
  else()
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
    target_compile_options(${name} PRIVATE -fpch-preprocess)  # ccache needs it
  endif()
endfunction()

function(codl_tool name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE codl_flags)
  target_compile_options(${name} PRIVATE ${CODL_HARDENING} $<$<CONFIG:Release>:-O1>)  # flags and messages
  if(CODL_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)  # takes clang less than half as long
  endif()
endfunction()

# codl_help(NAME COMPONENT) makes the manual page and the shells' completions of a tool. The tool prints them
# itself as soon as it is linked; a cross build has none.
function(codl_help name component)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  foreach(file man:man/man1/${name}.1 bash:bash-completion/completions/${name} zsh:zsh/site-functions/_${name}
          fish:fish/vendor_completions.d/${name}.fish)
    string(REGEX MATCH "([a-z]+):((.+)/[^/]+)" ignored ${file})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/${CMAKE_MATCH_3})
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM COMMAND sh -c
      "\"$<TARGET_FILE:${name}>\" --help-all=${CMAKE_MATCH_1} > \"${PROJECT_BINARY_DIR}/share/${CMAKE_MATCH_2}\"")
    install(FILES ${PROJECT_BINARY_DIR}/share/${CMAKE_MATCH_2} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_3}
      COMPONENT ${component})
  endforeach()
endfunction()

# codl_portable_tool(NAME SOURCES...) adds a tool that runs on devices, so it contains libstdc++ and libgcc; only the C
# library, and libcodl if it is linked, stay dynamic.
function(codl_portable_tool name)
  codl_tool(${name} ${ARGN})
  if(NOT CODL_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  endif()
endfunction()

# Sets the options that all tests share with what is precompiled for them.
function(codl_test_options name)
  target_link_libraries(${name} PRIVATE codl_flags codl_test_support)
  target_compile_options(${name} PRIVATE -O0)  # the code under test is in the libraries
  if(CODL_SANITIZE MATCHES address)
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# codl_test(NAME LIBRARIES a b ARGUMENTS c SOURCES x.cc y.cc) also links test/support's main.
function(codl_test name)
  cmake_parse_arguments(arg "" "" "LIBRARIES;ARGUMENTS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  codl_test_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  codl_precompile(${name} REUSE_FROM codl_test_precompiled)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGUMENTS})
endfunction()
