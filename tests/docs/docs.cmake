# The pages that show commands show what these print.
add_test(NAME docs.tour COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_tour.py ${PROJECT_SOURCE_DIR}
                                $<TARGET_FILE:dsakit_program>)
set_tests_properties(docs.tour PROPERTIES LABELS docs)
