import FoundationEssentials
import Glibc
import Synchronization
import TrellisTesting

/// The embedded server, with an endpoint for each part.
struct TourServer: Sendable {
    /// The size of the response of `/firehose`, in bytes. It is several times what the kernel's socket buffers take: a receive buffer
    /// grows to 32 MiB on some systems (`net.ipv4.tcp_rmem`).
    static let streamSize = 256 << 20
    /// The size of the response of `/file`, in bytes.
    static let fileSize = 32 << 20

    let loopback: LoopbackServer
    /// The bytes of the response of `/file`.
    let file: Data

    init() throws {
        let state = State()
        let bytes = try Self.randomBytes(Self.fileSize)
        file = Data(bytes)
        loopback = try LoopbackServer.http(storesBodies: false) { request in
            switch request.path {
            case "/users": .json(#"[{"id": 1, "name": "Ada Lovelace"}, {"id": 2, "name": "Grace Hopper"}]"#)
            case "/never": .init(body: .raw { $0.waitUntilPeerCloses() })
            case "/firehose": .init(body: .sized(Self.streamSize, Self.pour))
            case "/file": Self.answer(request, with: bytes, mustBreak: state.count("/file") == 1)
            case "/busy": state.count("/busy") < 3 ? .text("come back later\n", status: 503) : .text("welcome\n")
            case "/upload": .json(#"{"received": \#(request.bodyLength)}"#)
            default: .init(404)
            }
        }
    }

    func url(_ path: String) -> String { loopback.url(path) }

    /// The number of requests for each path.
    private final class State: Sendable {
        private let counts = Mutex<[String: Int]>([:])

        func count(_ path: String) -> Int {
            counts.withLock { counts in
                counts[path, default: 0] += 1
                return counts[path, default: 0]
            }
        }
    }

    private static func pour(_ body: LoopbackServer.BodyWriter) throws {
        let piece = [UInt8](repeating: 7, count: 64 << 10)
        for _ in 0..<(streamSize / piece.count) { try body.write(piece) }
    }

    // MARK: The file

    /// Returns random bytes, so that no two ranges of the file are equal.
    private static func randomBytes(_ count: Int) throws -> [UInt8] {
        let source = open("/dev/urandom", O_RDONLY | O_CLOEXEC)
        defer { close(source) }
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let given = read(source, buffer.baseAddress.map { $0 + filled }, count - filled)
                try expect(given > 0, "/dev/urandom cannot be read")
                filled += given
            }
        }
    }

    /// Returns the file, or the rest of it (RFC 9110, section 14). The first response stops in the middle.
    private static func answer(
        _ request: LoopbackServer.ReceivedRequest, with file: [UInt8], mustBreak: Bool
    ) -> LoopbackServer.Response {
        let range = request["Range"]?.split(separator: "=").last?.split(separator: "-").first
        let start = range.flatMap { Int($0) } ?? 0
        var headers = [("ETag", "\"tour\""), ("Accept-Ranges", "bytes")]
        if start > 0 { headers.append(("Content-Range", "bytes \(start)-\(fileSize - 1)/\(fileSize)")) }
        let answer = LoopbackServer.Response.Body.sized(fileSize - start) { body in
            var rest = file[start...]
            while !rest.isEmpty {
                if mustBreak, rest.count < fileSize * 3 / 5 { return body.connection.reset() }
                try body.write(Array(rest.prefix(256 << 10)))
                rest = rest.dropFirst(256 << 10)
                // A pause like that of a network, so that the progress is visible.
                try body.connection.pause(for: .milliseconds(4))
            }
        }
        return .init(start > 0 ? 206 : 200, headers: headers, body: answer)
    }
}
