# Installs into a folder of its own and works with that alone, as a stranger would (check_install.cmake).
add_test(NAME install.from_a_prefix
  COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR} -DSOURCES=${CMAKE_CURRENT_LIST_DIR}
          -DEXAMPLES=${PROJECT_SOURCE_DIR}/examples
          -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install -DCOMPILER=${CMAKE_CXX_COMPILER} -DGENERATOR=${CMAKE_GENERATOR}
          -P ${CMAKE_CURRENT_LIST_DIR}/check_install.cmake)
set_tests_properties(install.from_a_prefix PROPERTIES LABELS install COST 20)
