# Script of the test install.from_a_prefix: installs, moves the prefix, builds a consumer and a plugin against it, and
# runs the installed CLI. usage: cmake -DBUILD_DIR=… -DSOURCES=… -DEXAMPLES=… -DWORK=… -DCOMPILER=… -DGENERATOR=… -P <this file>
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
foreach(page CONTRIBUTING.md docs/manifest.md docs/conformance.md examples/models/glm-5.2-fp8.json)
  if(NOT EXISTS ${WORK}/moved/share/doc/dsakit/${page})
    message(FATAL_ERROR "an author of plugins has no ${page}")
  endif()
endforeach()

build_project(consumer)
step("run the consumer" ${WORK}/consumer/consumer)
expect("ok flashmla_kv")
expect("rejected")

# The example engine, from its own folder, with the installed cpu plugin.
step("configure host_engine" ${CMAKE_COMMAND} -S ${EXAMPLES}/host_engine -B ${WORK}/host_engine -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${WORK}/moved)
step("build host_engine" ${CMAKE_COMMAND} --build ${WORK}/host_engine)
step("run host_engine" ${WORK}/host_engine/host_engine)
expect("the same tokens")

build_project(plugin)
step("install the plugin" ${CMAKE_COMMAND} --install ${WORK}/plugin)
step("list" ${WORK}/moved/bin/dsakit list)
expect("acme.outside")
file(GLOB_RECURSE plugin ${WORK}/moved/libdsakit_acme.outside.so)
step("lint" ${WORK}/moved/bin/dsakit lint ${plugin})
step("inspect" ${WORK}/moved/bin/dsakit inspect ${plugin})
expect("acme.outside")

# A backend from an empty folder, as CONTRIBUTING.md tells it: built against the install alone, judged, dropped into a
# folder, and found there. Nothing of dsakit is built again.
file(COPY ${WORK}/moved/share/doc/dsakit/examples/toy_backend DESTINATION ${WORK})
step("configure the toy" ${CMAKE_COMMAND} -S ${WORK}/toy_backend -B ${WORK}/toy_backend/build -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${WORK}/moved)
step("build the toy" ${CMAKE_COMMAND} --build ${WORK}/toy_backend/build)
step("judge the toy" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/toy_backend/build --output-on-failure --no-tests=error)
expect("acme.toy.conform")
set(dsakit ${WORK}/moved/bin/dsakit)
set(dropped ${WORK}/dropped)
file(COPY ${WORK}/toy_backend/build/lib/dsakit/plugins/libdsakit_acme.toy.so DESTINATION ${dropped})
step("list the dropped plugin" ${dsakit} list --plugin-dir ${dropped})
expect("acme.toy")
set(request [[{"platform":"cpu","arch":"cpu","model_family":"glm_moe_dsa","page_size":64,"heads":64,"topk":2048,"d_qk":576,"d_v":512,"kv_dtype":"bf16"}]])
step("resolve to its rank" ${dsakit} resolve --plugin-dir ${dropped} --request ${request})
expect("acme.toy  row bf16")
step("validate it" ${dsakit} validate --plugin-dir ${dropped} --request ${request} --decode-backend acme.toy
     --prefill-backend acme.toy)
expect("answer    yes")
string(REPLACE "bf16" "acme_int8" int8 "${request}")
step("resolve to its own layout" ${dsakit} resolve --plugin-dir ${dropped} --request ${int8})
expect("acme_int8_580")
step("run it" ${dsakit} run --plugin-dir ${dropped} --device cpu --model-config ${EXAMPLES}/models/glm-5.2-fp8.json
     --kv-cache-dtype bf16 --tp 16 --batch 1 --context 64 --prefill-tokens 2 --steps 1 --prefill-backend acme.toy
     --decode-backend acme.toy)
expect("PASS")
step("conform by name" ${dsakit} conform ${dropped}/libdsakit_acme.toy.so --level 0-2 --format json)
expect("\"verdict\":\"conforms\"")

# What the kit found reaches the next build, for the rows that ran, and goes when the code changes.
set(toy ${WORK}/toy_backend/build/lib/dsakit/plugins/libdsakit_acme.toy.so)
function(expect_evidence when bf16)
  step("build the toy again (${when})" ${CMAKE_COMMAND} --build ${WORK}/toy_backend/build)
  step("inspect the toy" ${dsakit} inspect ${toy} --format json)
  expect("\"evidence\":{\"bf16\":{\"cpu\":\"${bf16}\"},\"int8\":{\"cpu\":\"compiled\"}}")
endfunction()
expect_evidence("without a record" compiled)
step("record" ${dsakit} conform ${toy} --level 3-4 --evidence ${WORK}/toy_backend/evidence)
expect_evidence("with a record" hardware)
file(APPEND ${WORK}/toy_backend/plugin.cpp "// A remark.\n")
expect_evidence("with a remark" hardware)
step("test the record" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/toy_backend/build -R evidence --no-tests=error)
expect("100% tests passed, 0 tests failed out of 1")
file(APPEND ${WORK}/toy_backend/plugin.cpp "static_assert(true);\n")
expect_evidence("with other code" compiled)
step("test the stale record" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/toy_backend/build -R evidence --no-tests=error)
expect("Skipped")

# A manifest with a mistake stops the build of the plugin and says where.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/plugin --target dsakit_plugin_acme.wrong
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  message(FATAL_ERROR "a plugin with a wrong manifest was built")
endif()
expect("E0107")
expect("rows[0].where.kv_layout")
