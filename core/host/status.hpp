// How an answer or a diagnostic becomes a status: the exit codes of the CLI and the return values
// of the C API are one table. Pure; any thread.
#pragma once

#include <string_view>

#include "diag/diagnostic.hpp"
#include "solver/answer.hpp"

namespace dsakit {

enum class Status : int { yes = 0, no = 1, invalid = 2, environment = 3 };

Status status_of(Answer::Verdict verdict);

// Of a diagnostic that ended a command: a file that cannot be read or a missing device is the
// environment, a refusal of a well-formed question is a no, the rest is malformed input.
Status status_of(const Diagnostic& diagnostic);

// The answer that such a diagnostic amounts to: rejected for a refusal, else an error.
Answer failure_answer(std::string_view catalog, Diagnostic diagnostic);

}  // namespace dsakit
