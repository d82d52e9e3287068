import CFuzzer
import Glibc

/// The fuzzers by name. Each takes an input, and stops the process if a check fails.
let fuzzers: [String: (FuzzInput) -> Void] = [
    "lines": fuzzLines, "events": fuzzEvents, "multipart": fuzzMultipart, "text": fuzzText, "form": fuzzForm,
    "form-data": fuzzFormData,
    "retry-after": fuzzRetryAfter, "cookies": fuzzCookies, "cookie-dates": fuzzCookieDates,
    "websocket": fuzzWebSocket, "links": fuzzLinks,
    "response": fuzzResponse, "request": fuzzRequest, "frames": fuzzFrames,
    "cache-fields": fuzzCacheFields, "cache-file": fuzzCacheFile,
]

guard CommandLine.argc > 1, let fuzz = fuzzers[CommandLine.arguments[1]] else {
    print("fuzz \(fuzzers.keys.sorted().joined(separator: "|")) [libFuzzer's options and corpora]")
    exit(64)
}
// libFuzzer does not replace an existing signal handler. The handler of Swift's runtime writes a backtrace but does not save the input.
for trap in [SIGILL, SIGTRAP, SIGABRT] { signal(trap, SIG_DFL) }
Fuzzer.chosen = fuzz
var count = CommandLine.argc - 1
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzOneInput))
