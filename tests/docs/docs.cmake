# The pages that show commands show what these print, the page of settings names all there are,
# that of manifests all dimensions, and links lead somewhere.
foreach(check tour settings manifest links)
  add_test(NAME docs.${check} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_${check}.py
                                      ${PROJECT_SOURCE_DIR} $<TARGET_FILE:dsakit_program>)
  set_tests_properties(docs.${check} PROPERTIES LABELS docs)
endforeach()
