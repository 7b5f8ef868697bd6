# codl_add_plan(NAME MODEL m.onnx [DEVICES d...] [OPTIONS o...] [OUTPUT_DIRECTORY dir])
#
# Adds a target NAME, part of `all`, that compiles the model for each device: a name of codlc --list-devices or a
# profile's file (default: host). OPTIONS are codlc's. The plans are dir/NAME.DEVICE.codl (default: the current binary
# folder). The target's property CODL_PLANS lists them in the order of DEVICES, for get_target_property() and
# install(FILES).
#
# A plan is made again when the model, its external data, its device's profile or one of that one's bases, or codlc has
# changed. Whatever uses a plan is built again only if the plan's bytes change. Because codlc does not touch a plan with
# equal bytes, the build system compares a stamp beside it.
function(codl_add_plan name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL;OUTPUT_DIRECTORY" "DEVICES;OPTIONS")
  if(NOT TARGET codl::codlc)
    message(FATAL_ERROR "codl_add_plan(${name}): expected codlc of this machine in PATH or CODL_HOST_PREFIX, found none")
  endif()
  if(NOT arg_MODEL OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "codl_add_plan(${name}): expected MODEL, DEVICES, OPTIONS and OUTPUT_DIRECTORY, found '${ARGN}'")
  endif()
  if(NOT arg_DEVICES)
    set(arg_DEVICES host)
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  cmake_path(ABSOLUTE_PATH arg_MODEL BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  cmake_path(ABSOLUTE_PATH arg_OUTPUT_DIRECTORY BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} NORMALIZE)
  set(plans)
  set(stamps)
  foreach(device IN LISTS arg_DEVICES)
    set(profile)
    if(device MATCHES "\\.json$")
      cmake_path(ABSOLUTE_PATH device BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE profile)
      cmake_path(GET profile STEM LAST_ONLY device_name)
      set(device ${profile})
    else()
      set(device_name ${device})
    endif()
    set(plan ${arg_OUTPUT_DIRECTORY}/${name}.${device_name}.codl)
    # The generator must know where the stamp and the depfile are, whatever folder the plans go to.
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${name}.${device_name}.stamp)
    add_custom_command(OUTPUT ${stamp} BYPRODUCTS ${plan}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${arg_OUTPUT_DIRECTORY}
      COMMAND codl::codlc ${arg_MODEL} --device=${device} -o ${plan} -MF ${stamp}.d -MT ${stamp} ${arg_OPTIONS}
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${arg_MODEL} ${profile} codl::codlc DEPFILE ${stamp}.d
      COMMENT "Compiling ${name} for ${device_name}" VERBATIM)
    list(APPEND plans ${plan})
    list(APPEND stamps ${stamp})
  endforeach()
  add_custom_target(${name} ALL DEPENDS ${stamps})
  set_target_properties(${name} PROPERTIES CODL_PLANS "${plans}")
endfunction()
