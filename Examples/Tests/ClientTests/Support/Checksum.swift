import Foundation
import Testing

/// The SHA-256 of some bytes, in hexadecimal digits.
func sha256(_ bytes: Data) async throws -> String {
    let folder = try TemporaryFolder()
    let run = try await tool("sha256sum", [try folder.write(bytes, to: "bytes")])
    guard run.status == 0, run.output.count > 64 else { throw Failure("no SHA-256: \(run.errors)") }
    return String(run.text.prefix(64))
}
