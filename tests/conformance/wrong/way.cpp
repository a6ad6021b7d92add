// The one thing that tells the toy plugins apart.
extern const char* const kToyWrong;
const char* const kToyWrong = TOY_WRONG;
