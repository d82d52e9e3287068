/// The fuzzer that this process runs.
enum Fuzzer {
    /// The function of the fuzzer, set once, before the first input.
    nonisolated(unsafe) static var chosen: (FuzzInput) -> Void = { _ in }
}

/// Runs the fuzzer on one input. libFuzzer's library expects this name.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzer.chosen(FuzzInput(start, count))
    return 0
}
