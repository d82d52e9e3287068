import Glibc

/// Stops the process, and libFuzzer with it, if `condition` is false. Unlike `precondition`, the function prints the message in optimised
/// builds too.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
    guard !condition else { return }
    let text = "wrong: \(what())\n"
    _ = text.withCString { write(2, $0, text.utf8.count) }
    preconditionFailure()
}
