import Foundation
import Glibc

/// The shell of the system.
package enum Shell {
    /// Whether the system has the `curl` command. Names are escaped as in browsers since 7.81; Debian 12 has 7.88.
    package static let hasCURL = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// Returns the output of a script, which runs in a thread of its own.
    package static func output(of script: String) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: run(script)) }
        }
    }

    /// Returns the arguments of `curl` in a command line, and the input that curl would read.
    package static func curl(called command: String) async -> (arguments: [String], input: [UInt8]) {
        let output = await output(
            of: "curl() { printf '%s\\0' \"$@\"; printf '\\001'; cat; }\n{ \(command)\n} </dev/null")
        // Every argument ends with a zero; none begins with the byte 1.
        guard let end = output.firstRange(of: [0, 1])?.lowerBound else { return ([], []) }
        let arguments = output[..<end].split(separator: 0, omittingEmptySubsequences: false)
        return (arguments.map { String(decoding: $0, as: UTF8.self) }, [UInt8](output[(end + 2)...]))
    }

    private static func run(_ script: String) -> [UInt8] {
        guard let stream = unsafe popen(script, "re") else { return [] }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe fread(&buffer, 1, buffer.count, stream)
            if count == 0 { break }
            output += buffer[..<count]
        }
        unsafe pclose(stream)
        return output
    }
}
