#include "host/status.hpp"

namespace dsakit {

Status status_of(Answer::Verdict verdict) {
  switch (verdict) {
    case Answer::Verdict::ok:
      return Status::yes;
    case Answer::Verdict::rejected:
      return Status::no;
    case Answer::Verdict::error:
      return Status::invalid;
  }
  return Status::invalid;
}

Status status_of(const Diagnostic& diagnostic) {
  switch (diagnostic.code) {
    case Code::E0101:
    case Code::W0113:
    case Code::W0114:
    case Code::E0501:
    case Code::E0604:
    case Code::E0610:
      return Status::environment;
    case Code::E0201:
    case Code::E0303:
    case Code::E0308:
      return Status::no;
    default:
      return Status::invalid;
  }
}

Answer failure_answer(std::string_view catalog, Diagnostic diagnostic) {
  const bool refused = status_of(diagnostic) == Status::no;
  Answer answer = error_answer(catalog, std::move(diagnostic));
  if (refused) answer.verdict = Answer::Verdict::rejected;
  return answer;
}

}  // namespace dsakit
