// Requests and request options as JSON: what dsakit_request_from_config() takes and gives.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "device/model_config.hpp"
#include "diag/diagnostic.hpp"
#include "solver/request.hpp"

namespace dsakit {

struct ParsedRequestOptions {
  RequestOptions request;
  std::optional<std::string> family;
};

// {"device","model_family","kv_dtype","page_size","tp","hisparse","mtp","features","prefill","decode",
// "mtp_backend"}. E0401 for another key, E0402 for a wrong type, E0404 if not a JSON object.
tl::expected<ParsedRequestOptions, Diagnostic> parse_request_options(std::string_view json);

// The batch form of a request: parse_request() gives an equal one, origins and subject aside.
std::string request_json_text(const Request& request);

}  // namespace dsakit
