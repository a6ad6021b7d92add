// Answers for people. Says only what the answer and the manifests hold; no verdict is made here.
// Pure but for writing to the stream.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "catalog/catalog.hpp"
#include "diag/render.hpp"
#include "solver/answer.hpp"
#include "solver/request.hpp"

namespace dsakit::cli {

// One line of text of which a part may come from anywhere (a manifest, a file name, the command
// line), made printable.
void print_line(std::ostream& out, std::string_view text);

// "catalog", "request", "answer" and what follows from them.
void print_answer(std::ostream& out, const Answer& answer, const Request& request,
                  const Catalog& catalog, TextStyle style);

// print_answer(), then the allowed sessions, then each backend in each phase with its nearest
// reason.
void print_explanation(std::ostream& out, const Explanation& explanation, const Request& request,
                       const Catalog& catalog, TextStyle style);

// A condition of `dim` in words: "64, 128", "a subset of {hisparse}".
std::string condition_text(const DimensionTable& dims, const std::string& dim,
                           const std::string& json);

// A JSON value of a request in words.
std::string wanted_text(const std::string& json);

}  // namespace dsakit::cli
