# Checks which layers include which. cmake -DROOT=<source dir> -P check_includes.cmake
#
# Reads every #include of the C++, C and OpenCL files and fails on one that crosses a layer. The
# tables below are the rule (docs/design/architecture.md explains it); test/ may include everything.
cmake_minimum_required(VERSION 3.25)

# layer(NAME <regex of its files> <regexes>...) says with which regexes the paths that a layer may include begin.
set(layers "")
function(layer name files)
  set(layers ${layers} ${name} PARENT_SCOPE)
  set(${name}_files ${files} PARENT_SCOPE)
  set(${name}_may ${ARGN} PARENT_SCOPE)
endfunction()
layer(schema ^schema/ schema/)
layer(kernels ^kernels/ schema/ kernels/ hwy/)
layer(runtime_header ^runtime/include/ codl/)
layer(tools ^tools/ tools/ codl/codl[.]h schema/half[.]h schema/mix_bits[.]h)  # half and mix_bits: types of elements
layer(runtime_policy ^runtime/policy/ codl/ runtime/policy/)
layer(runtime_tools ^runtime/tools/ codl/ schema/mix_bits[.]h tools/ runtime/tools/)
layer(runtime ^runtime/src/ codl/ schema/ kernels/common/contract/ kernels/common/cpu/ kernels/kernel_table[.]h runtime/src/)
# It times kernels as the runtime runs them, so it uses the runtime's parts, not its API.
layer(profiler ^profiler/ schema/ kernels/ compiler/cost/ runtime/src/ tools/ runtime/tools/ codl/ profiler/)
layer(integrations ^integrations/ codl/codl[.]h integrations/)
layer(examples ^examples/ codl/codl[.]h codl/codl[.]hpp select_plan[.]h)
# The compiler is a line: a folder may include itself and those before it.
set(line support ir ops interp accuracy frontend passes shrink cost device partition schedule simulate memory variants emit report)
set(may schema/ kernels/ llvm/ tools/printable[.]h tools/nearest[.]h tools/files[.]h tools/json_writer[.]h tools/tool_error[.]h)
foreach(folder ${line})
  layer(compiler_${folder} ^compiler/${folder}/ ${may} compiler/${folder}/)
  if(folder STREQUAL shrink)  # a library with one header
    list(APPEND may compiler/shrink/shrink[.]h)
  else()
    list(APPEND may compiler/${folder}/)
  endif()
endforeach()
list(APPEND compiler_accuracy_may tools/npy[.]h)  # reads calibration data
# The device computes the cost of a step, too, so this layer does without LLVM.
layer(compiler_cost ^compiler/cost/ schema/ kernels/ compiler/cost/)
# The graph's verifier compares types with the operators' inferred ones.
layer(compiler_ir_verify ^compiler/ir/verify[.]cc schema/ kernels/ llvm/ compiler/support/ compiler/ir/
  compiler/ops/)
layer(compiler_pipeline ^compiler/pipeline[.] ${may} compiler/pipeline[.]h)
layer(compiler_tools ^compiler/tools/ ${may} compiler/pipeline[.]h tools/ compiler/tools/)

# Only these files may include these headers, whichever brackets are used; most are third-party headers.
set(fenced
  "^(onnx|google/protobuf)/=^(compiler/frontend|test)/"
  "^Eigen/=^(compiler/shrink|test)/"
  "^nlohmann/=^(compiler/support/json_reader[.]|test/)"
  "^onnxruntime_=^(integrations/onnxruntime|test/integrations)/"
  "^CL/=^(runtime/src/cl_api[.]h|test/)"
  "^catch2/=^test/support/catch[.]h"
  "^flatbuffers/=^(schema|compiler/emit|test)/"
  "^schema/plan_model[.]h=^(compiler|test)/"  # has containers, so it is not for the device side
  "^hwy/=^kernels/|^test/(kernels|bench)/")

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/schema/* ${ROOT}/kernels/* ${ROOT}/compiler/*
  ${ROOT}/runtime/* ${ROOT}/tools/* ${ROOT}/profiler/* ${ROOT}/examples/* ${ROOT}/integrations/* ${ROOT}/test/*)
list(FILTER files INCLUDE REGEX "[.](h|hpp|cc|c|cl)$")
set(faults "")
foreach(file ${files})
  set(layer "")
  foreach(candidate ${layers})
    if(file MATCHES "${${candidate}_files}")
      set(layer ${candidate})
    endif()
  endforeach()
  if(NOT layer AND NOT file MATCHES "^test/")
    list(APPEND faults "${file}: expected a layer in check_includes.cmake, found none")
  endif()
  file(STRINGS ${ROOT}/${file} includes REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(include ${includes})
    string(REGEX MATCH "([<\"])([^>\"]+)[>\"]" matched "${include}")
    set(is_quoted ${CMAKE_MATCH_1})
    set(header ${CMAKE_MATCH_2})
    if(layer AND is_quoted STREQUAL "\"")
      set(allowed FALSE)
      foreach(prefix ${${layer}_may})
        if(header MATCHES "^${prefix}")
          set(allowed TRUE)
        endif()
      endforeach()
      if(NOT allowed)
        list(APPEND faults "${file}: expected an include that ${layer} may have, found \"${header}\"")
      endif()
    endif()
    foreach(fence ${fenced})
      string(REGEX MATCH "^(.*)=(.*)$" matched "${fence}")
      set(home "${CMAKE_MATCH_2}")
      if(header MATCHES "${CMAKE_MATCH_1}" AND NOT file MATCHES "${home}")
        list(APPEND faults "${file}: expected ${header} only in files that match ${home}")
      endif()
    endforeach()
  endforeach()
endforeach()
foreach(fault ${faults})
  message(NOTICE "${fault}")
endforeach()
list(LENGTH faults count)
if(count)
  message(FATAL_ERROR "check_includes: ${count} crossings")
endif()
