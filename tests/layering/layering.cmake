# The layering of ARCHITECTURE.md, checked on what was really linked and compiled.
#
# At the end of configuration every target below the project is written to link_graph.tsv with its type, folder,
# libraries and object files; check_layers.py judges that table and the objects' symbols.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(DSAKIT_LINK_GRAPH ${CMAKE_CURRENT_BINARY_DIR}/layering/link_graph.tsv)

function(_dsakit_collect_targets directory out)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    _dsakit_collect_targets(${folder} below)
    list(APPEND targets ${below})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

function(dsakit_write_link_graph output)
  _dsakit_collect_targets(${PROJECT_SOURCE_DIR} targets)
  set(lines "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "LIBRARY|EXECUTABLE")
      continue()
    endif()
    get_target_property(folder ${target} SOURCE_DIR)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    set(objects "")
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      set(objects "$<JOIN:$<TARGET_OBJECTS:${target}>,|>")
    endif()
    string(APPEND lines
           "${target}\t${type}\t${folder}\t$<JOIN:$<TARGET_PROPERTY:${target},LINK_LIBRARIES>,|>\t${objects}\n")
  endforeach()
  file(GENERATE OUTPUT ${output} CONTENT "${lines}")
endfunction()
# EVAL, since a deferred call expands its arguments only when it runs.
cmake_language(EVAL CODE
  "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL dsakit_write_link_graph [[${DSAKIT_LINK_GRAPH}]])")

# usage: dsakit_script_test(<name> <arguments of python3>)
function(dsakit_script_test name)
  add_test(NAME layering.${name} COMMAND ${Python3_EXECUTABLE} ${ARGN})
  set_tests_properties(layering.${name} PROPERTIES LABELS layering)
endfunction()

dsakit_script_test(files ${CMAKE_CURRENT_LIST_DIR}/check_files.py ${PROJECT_SOURCE_DIR})
dsakit_script_test(planted ${CMAKE_CURRENT_LIST_DIR}/planted_test.py)
# Sanitizers add symbols of their own to every object, so the symbols are judged without them.
if(NOT DSAKIT_SANITIZE)
  dsakit_script_test(layers ${CMAKE_CURRENT_LIST_DIR}/check_layers.py ${PROJECT_SOURCE_DIR} ${DSAKIT_LINK_GRAPH}
                     ${CMAKE_NM})
endif()
