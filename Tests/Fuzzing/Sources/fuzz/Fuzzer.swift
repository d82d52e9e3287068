/// The fuzzer that this process runs.
enum Fuzzer {
    /// Set once, before the first input.
    nonisolated(unsafe) static var chosen: (FuzzInput) -> Void = { _ in }
}

/// Called for every input. It has the name that libFuzzer's library wants to be there.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzer.chosen(FuzzInput(start, count))
    return 0
}
