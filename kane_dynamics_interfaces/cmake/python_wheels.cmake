# What a build against ROS from Python wheels needs; with a ROS distribution it changes nothing.

option(PYTHON_ONLY "Generate only what Python nodes need" OFF)

# Generators announce themselves in this list. Without those for C++ the build takes less than half
# the time, and Python nodes miss nothing.
macro(generate_python_only)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "cpp")
endmacro()

# Message packages installed from Python wheels name the Python headers of the machine that built
# the wheels, and CMake refuses include directories that do not exist. The generator has already
# given our own targets the headers of this machine, so missing ones are dropped. Packages of a ROS
# distribution name no missing directory.
function(drop_missing_include_directories)
  get_property(imported_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported_targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(present "")
    foreach(directory IN LISTS directories)
      if(EXISTS "${directory}" OR directory MATCHES "\\$<")
        list(APPEND present "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
  endforeach()
endfunction()
