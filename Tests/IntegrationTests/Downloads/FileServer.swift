import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// A server with one file, which serves ranges correctly unless a test makes it misbehave.
final class FileServer: Sendable {
    /// The content of the file, with its validator.
    struct Version: Sendable {
        var content: Data
        var tag: String?
        /// The additional lines of every head.
        var fields = ""
    }

    /// The course of a response.
    enum Fate: Sendable {
        case whole
        /// The given number of bytes of the body, followed by the end of the connection.
        case cut(Int)
        /// The given number of bytes of the body, followed by a reset.
        case reset(Int)
        /// The given number of bytes of the body, followed by silence until the gate opens.
        case stalled(Int, LoopbackServer.Gate)
        /// The given number of bytes of the body, and the rest when the gate opens.
        case held(Int, LoopbackServer.Gate)
        /// Silence without a head, until the gate opens.
        case silent(LoopbackServer.Gate)
        /// The given number of bytes of the body, followed by about 20 kB per second.
        case crawling(Int)
        /// The head, and the body according to another course as soon as the gate is open: the requests for other parts come before it.
        indirect case begun(LoopbackServer.Gate, Fate)
        /// Another response.
        case other(LoopbackServer.Response)
    }

    let server: LoopbackServer
    private let version: Locked<Version>

    /// Starts a server.
    ///
    /// - Parameter fate: Returns the course of a response for the number of the request, starting at 1, and the request.
    init(
        _ content: Data, tag: String? = "\"v1\"", fields: String = "",
        fate: @escaping @Sendable (Int, LoopbackServer.ReceivedRequest) -> Fate = { _, _ in .whole }
    ) throws {
        let version = Locked(Version(content: content, tag: tag, fields: fields))
        self.version = version
        let count = Locked(0)
        server = try .http { request in
            let number = count.next()
            let fate = fate(number, request)
            let (head, body) = Self.answer(request, version.withLock { $0 })
            if case .other(let answer) = fate { return answer }
            return .init(body: .raw { try Self.write(Data(head.utf8), body, fate, to: $0) })
        }
    }

    /// Writes a response according to its course.
    private static func write(
        _ head: Data, _ body: Data, _ fate: Fate, to connection: LoopbackServer.Connection
    ) throws {
        switch fate {
        case .other: break
        case .whole: try connection.write(head + body)
        case .silent(let gate): try connection.wait(for: gate)
        case .held(let count, let gate):
            try connection.write(head + body.prefix(count))
            try connection.wait(for: gate)
            try connection.write(body.dropFirst(count))
        case .crawling(let count):
            try connection.write(head + body.prefix(count))
            for start in stride(from: count, to: body.count, by: 1000) {
                try connection.pause(for: .milliseconds(50))
                try connection.write(body.dropFirst(start).prefix(1000))
            }
        case .cut(let count): try connection.write(head + body.prefix(count))
        case .reset(let count):
            try connection.write(head + body.prefix(count))
            connection.reset()
        case .stalled(let count, let gate):
            try connection.write(head + body.prefix(count))
            try connection.wait(for: gate)
        case .begun(let gate, let rest):
            try connection.write(head)
            try connection.wait(for: gate)
            try write(Data(), body, rest, to: connection)
        }
    }

    /// Replaces the file with another version.
    func change(to content: Data, tag: String?) { version.withLock { $0 = Version(content: content, tag: tag) } }

    var url: String { server.url("/folder/file.bin") }

    /// The `Range` field of each request.
    var ranges: [String?] { server.requests.map { $0["Range"] } }

    private static func answer(
        _ request: LoopbackServer.ReceivedRequest, _ version: Version
    ) -> (head: String, body: Data) {
        let tag = version.tag.map { "ETag: \($0)\r\n" } ?? ""
        let close = version.fields + "Accept-Ranges: bytes\r\nConnection: close\r\n\r\n"
        if let range = request["Range"], request["If-Range"] == version.tag, version.tag?.hasPrefix("W/") != true {
            let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
            let total = version.content.count
            let start = Int(ends[0]) ?? 0
            guard start < total else {
                return (
                    "HTTP/1.1 416 No\r\nContent-Range: bytes */\(total)\r\nContent-Length: 0\r\n\(tag)\(close)", Data()
                )
            }
            let end = min(Int(ends[1]) ?? total - 1, total - 1)
            let body = version.content[start...end]
            return (
                "HTTP/1.1 206 Part\r\nContent-Range: bytes \(start)-\(end)/\(total)\r\n"
                    + "Content-Length: \(body.count)\r\n\(tag)\(close)", Data(body)
            )
        }
        return ("HTTP/1.1 200 OK\r\nContent-Length: \(version.content.count)\r\n\(tag)\(close)", version.content)
    }
}

/// Returns bytes without a pattern, the same for the same seed. Made of whole numbers, because a step takes long in a debug build.
func noise(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed
    var rest = count / 8 + 1
    var numbers: [UInt64] = []
    numbers.reserveCapacity(rest)
    while rest > 0 {
        rest -= 1
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = (state ^ (state &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number &>> 27)) &* 0x94D0_49BB_1331_11EB
        numbers.append(number ^ (number &>> 31))
    }
    return unsafe numbers.withUnsafeBytes { unsafe Data($0.prefix(count)) }
}

/// Returns bytes in gzip's format (RFC 1952), stored without compression.
func storedInGzip(_ content: Data) -> Data {
    var coded = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
    for start in stride(from: 0, to: content.count, by: 60_000) {
        let block = content.dropFirst(start).prefix(60_000)
        let isLast: UInt8 = start + block.count == content.count ? 1 : 0
        let count = UInt16(block.count)
        coded += [isLast, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
        coded += block
    }
    var sum: UInt32 = .max
    for byte in content {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    for number in [~sum, UInt32(content.count)] {
        for shift in 0..<4 { coded.append(UInt8(number >> (8 * shift) & 255)) }
    }
    return coded
}

/// An empty folder for one test, removed with the value.
final class Folder: Sendable {
    let path: String

    init() throws { path = try temporaryFolder("downloads-\(UUID().uuidString)") }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// The names of the files in the folder, including hidden ones.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    func data(_ name: String) -> Data? { FileManager.default.contents(atPath: self(name)) }

    func write(_ data: Data, to name: String) { _ = FileManager.default.createFile(atPath: self(name), contents: data) }
}
