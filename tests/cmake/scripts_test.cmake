# What the scripts do with arguments. usage: cmake -P
cmake_minimum_required(VERSION 3.25)
set(scripts ${CMAKE_CURRENT_LIST_DIR}/../../scripts)

function(expect script argument status text)
  execute_process(COMMAND timeout 60 bash ${scripts}/${script}.sh "${argument}" RESULT_VARIABLE found
                  OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(FIND "${said}" "${text}" at)
  if(NOT found STREQUAL status OR at LESS 0)
    message(SEND_ERROR "${script}.sh ${argument}: answered ${found}, '${said}', expected ${status}, '${text}'")
  endif()
endfunction()

foreach(script IN ITEMS run release test format)
  expect(${script} --help 0 "usage: scripts/${script}.sh")
  foreach(wrong IN ITEMS --relase relase "" " " "--check --check")
    expect(${script} "${wrong}" 2 "usage: scripts/${script}.sh")
  endforeach()
endforeach()
