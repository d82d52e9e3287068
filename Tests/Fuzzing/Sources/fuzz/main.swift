import CFuzzer
import Glibc

/// What there is to fuzz. Each takes an input and stops the process where something is wrong.
let fuzzers: [String: (FuzzInput) -> Void] = [
    "lines": fuzzLines, "events": fuzzEvents, "multipart": fuzzMultipart, "text": fuzzText,
    "cookies": fuzzCookies, "dates": fuzzDates,
]

guard CommandLine.argc > 1, let fuzz = fuzzers[CommandLine.arguments[1]] else {
    print("fuzz \(fuzzers.keys.sorted().joined(separator: "|")) [libFuzzer's options and corpora]")
    exit(64)
}
Fuzzer.chosen = fuzz
var count = CommandLine.argc - 1
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzOneInput))
