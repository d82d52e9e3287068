import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Suspending stops the traffic of a socket, and resuming starts it again: at most the bytes that the buffers of two kernels hold still
/// move.
@Suite(.timeLimit(.minutes(3)))
struct SuspensionTests {
    /// A size that is several times the capacity of a loopback connection.
    private static let size = 96 << 20

    /// Runs many turns of the loop of the session.
    private func goRound(_ session: Session, _ server: LoopbackServer) async throws {
        for _ in 0..<100 { _ = try await session.data(server.url("/other")) }
    }

    @Test func aSuspendedDownloadStandsStill() async throws {
        let begun = LoopbackServer.Gate()
        let goOn = LoopbackServer.Gate()
        let server = try LoopbackServer.http { request in
            guard request.path == "/large" else { return .init(204) }
            return .init(
                body: .sized(Self.size) { body in
                    let piece = [UInt8](repeating: 7, count: 1 << 20)
                    try body.write(piece)
                    begun.open()
                    try body.connection.wait(for: goOn)
                    for _ in 1..<Self.size >> 20 { try body.write(piece) }
                })
        }
        let session = Session()
        let download = session.request(Request(server.url("/large")).withMaximumBodySize(.unlimited))
        let answer = Task { try await download.data().count }
        try await begun.opened()
        download.suspend()
        #expect(await download.state == .suspended)
        goOn.open()
        try await goRound(session, server)
        #expect(server.bytesWritten < Self.size, "the server must be held up")
        let held = server.bytesWritten
        download.resume()
        #expect(try await answer.value == Self.size)
        #expect(server.bytesWritten > held)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test(arguments: ["data", "file", "stream"])
    func aSuspendedUploadStandsStill(_ kind: String) async throws {
        let begun = LoopbackServer.Gate()
        let goOn = LoopbackServer.Gate()
        let received = Locked(0)
        let server = try LoopbackServer { connection in
            while let head = try connection.readHead() {
                if head.path == "/large" {
                    received.withLock { $0 = 0 }
                    while received.withLock({ $0 }) < Self.size {
                        let bytes = try connection.read()
                        if bytes.isEmpty { return }
                        received.withLock { $0 += bytes.count }
                        guard !begun.isOpen else { continue }
                        begun.open()
                        try connection.wait(for: goOn)
                    }
                }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let session = Session()
        let upload = try session.uploadRequest(body(kind), to: server.url("/large"))
        let answer = Task { try await upload.response(of: .data).status.code }
        try await begun.opened()
        upload.suspend()
        #expect(await upload.state == .suspended)
        goOn.open()
        try await goRound(session, server)
        #expect(received.withLock { $0 } < Self.size, "nothing may come beyond what was under way")
        upload.resume()
        #expect(try await answer.value == 200)
        #expect(received.withLock { $0 } == Self.size)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    private func body(_ kind: String) throws -> RequestBody {
        let data = Data(count: Self.size)
        switch kind {
        case "data": return .data(data)
        case "file":
            let path = try temporaryFolder("suspension") + "/large"
            try data.write(to: URL(filePath: path))
            return .file(path)
        default:
            return .stream(
                AsyncStream<Data> { continuation in
                    for _ in 0..<Self.size >> 20 { continuation.yield(Data(count: 1 << 20)) }
                    continuation.finish()
                }, length: Int64(Self.size))
        }
    }
}
