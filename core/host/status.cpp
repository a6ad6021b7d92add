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
    case Code::E0121:
    case Code::W0113:
    case Code::W0114:
    case Code::E0501:
    case Code::E0604:
    case Code::E0610:
    case Code::E0608:
    case Code::E0701:
    case Code::E0702:
    case Code::E0703:
    case Code::E0704:
    case Code::E0705:
    case Code::E0706:
    case Code::E0708:
    case Code::E0709:
    case Code::E0712:
    case Code::E0713:
    case Code::E0803:
    case Code::E0804:
    case Code::E0805:
      return Status::environment;
    case Code::E0201:
    case Code::E0303:
    case Code::E0308:
    case Code::E0707:
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
