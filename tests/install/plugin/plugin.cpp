// A backend that lives outside the project and refuses to run; it shows what the installed SDK
// needs to compile.
#include <sdk/plugin.hpp>

namespace {

using dsakit::sdk::Config;
using dsakit::sdk::Error;

class Outside {
 public:
  static dsakit_rc probe(std::int32_t, std::int32_t, Error&) { return DSAKIT_RC_OK; }
  static dsakit_rc create(const Config&, std::unique_ptr<Outside>& made, Error&) {
    made = std::make_unique<Outside>();
    return DSAKIT_RC_OK;
  }
  dsakit_rc workspace(std::int64_t, dsakit_workspace& answer, Error&) const {
    answer.bytes = 0;
    answer.alignment = 1;
    return DSAKIT_RC_OK;
  }
  dsakit_rc run(const dsakit_run_args&, Error& error) {
    return error.fail(DSAKIT_RC_UNSUPPORTED, "this backend only shows how to build one");
  }
};

}  // namespace

DSAKIT_PLUGIN(Outside)
