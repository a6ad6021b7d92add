# Script of the test install.from_a_prefix: installs, moves the prefix, builds a consumer and a plugin against it, and
# runs the installed CLI. usage: cmake -DBUILD_DIR=… -DSOURCES=… -DWORK=… -DCOMPILER=… -DGENERATOR=… -P <this file>
set(ENV{DESTDIR} "")
foreach(variable DSAKIT_PLUGIN_PATH DSAKIT_PLUGIN_PATH_ADD DSAKIT_BACKEND XDG_DATA_HOME)
  unset(ENV{${variable}})
endforeach()

# usage: step(<what> <command>…)     fails the test unless the command exits with 0; its output is in `output`
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what}: exit code ${code}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "expected `${text}` in:\n${output}")
  endif()
endfunction()

function(build_project name)
  step("configure ${name}" ${CMAKE_COMMAND} -S ${SOURCES}/${name} -B ${WORK}/${name} -G ${GENERATOR}
       -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${WORK}/moved
       -DCMAKE_INSTALL_PREFIX=${WORK}/moved)
  step("build ${name}" ${CMAKE_COMMAND} --build ${WORK}/${name})
endfunction()

file(REMOVE_RECURSE ${WORK})
step("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK}/prefix)
file(RENAME ${WORK}/prefix ${WORK}/moved)

build_project(consumer)
step("run the consumer" ${WORK}/consumer/consumer)
expect("ok flashmla_kv")
expect("rejected")

build_project(plugin)
step("install the plugin" ${CMAKE_COMMAND} --install ${WORK}/plugin)
step("list" ${WORK}/moved/bin/dsakit list)
expect("acme.outside")
file(GLOB_RECURSE plugin ${WORK}/moved/libdsakit_acme.outside.so)
step("lint" ${WORK}/moved/bin/dsakit lint ${plugin})
step("inspect" ${WORK}/moved/bin/dsakit inspect ${plugin})
expect("acme.outside")

# A manifest with a mistake stops the build of the plugin and says where.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/plugin --target dsakit_plugin_acme.wrong
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  message(FATAL_ERROR "a plugin with a wrong manifest was built")
endif()
expect("E0107")
expect("rows[0].where.kv_layout")
