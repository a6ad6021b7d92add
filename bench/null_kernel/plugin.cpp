// A backend whose run checks its arguments as every plugin must, and then has nothing to do.
#include "sdk/plugin.hpp"
#include "sdk/run_view.hpp"

namespace {

using dsakit::sdk::Config;
using dsakit::sdk::Error;

class NullKernel {
 public:
  explicit NullKernel(Config config) : config_(std::move(config)) {}
  static dsakit_rc probe(std::int32_t, std::int32_t, Error&) { return DSAKIT_RC_OK; }
  static dsakit_rc create(const Config& config, std::unique_ptr<NullKernel>& made, Error&) {
    made = std::make_unique<NullKernel>(config);
    return DSAKIT_RC_OK;
  }
  dsakit_rc workspace(std::int64_t, dsakit_workspace& answer, Error&) const {
    answer.bytes = 0;
    answer.alignment = 1;
    return DSAKIT_RC_OK;
  }
  dsakit_rc run(const dsakit_run_args& args, Error& error) {
    dsakit::sdk::RunView view;
    return dsakit::sdk::check_run(config_, *config_.layout, args, view, error);
  }

 private:
  Config config_;
};

}  // namespace

DSAKIT_PLUGIN(NullKernel)
