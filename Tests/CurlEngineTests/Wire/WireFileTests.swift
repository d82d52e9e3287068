import Dispatch
import Foundation
import Testing
import TrellisTesting

@testable import CurlEngine

/// The system sends the file of a request's body on a socket of the engine's own, and large bodies of responses are not copied.
@Suite(.timeLimit(.minutes(3)))
struct WireFileTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
    /// More than two parts, with a rest that is copied.
    private static let size = 5 << 19 + 1

    /// A file with its bytes, removed at the end of the test.
    private final class Temporary: Sendable {
        let path = NSTemporaryDirectory() + "trellis-wire-\(UUID())"
        let content: Data

        init(_ size: Int) throws {
            var random = SeededGenerator(seed: 1)
            content = random.bytes(size)
            try content.write(to: URL(filePath: path))
        }

        deinit { _ = unsafe unlink(path) }
    }

    /// A delegate that sends a file, and stores the outcome.
    private final class Upload: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread until the end was reported.
        var head: WireHead?
        var end: TransferEnd?
        var transfer: Transfer?
        var sent = 0
        var chunks: [Data] = []
        /// The closure that is called once, when the first bytes of the body were sent.
        var whenBegun: (@Sendable (Transfer) -> Void)?
        var whenEnded: (@Sendable () -> Void)?
        private var isAtEnd = false

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { self.head = head }
        func transferDidReceiveBody(_ bytes: RawSpan) { chunks.append(bytes.copied) }
        func transferDidReceiveBody(chunk: Data) { chunks.append(chunk) }
        func transferNeedsBody() {
            guard !isAtEnd else { return }
            isAtEnd = true
            transfer?.finishSending()
        }
        func transferDidSendBody(_ count: Int) {
            sent += count
            let body = whenBegun
            whenBegun = nil
            if let transfer { body?(transfer) }
        }
        func transferDidEnd(_ end: TransferEnd) {
            self.end = end
            transfer = nil
            whenEnded?()
        }
    }

    /// Sends a file, and returns at the end of the transfer.
    private static func send(
        _ file: Temporary, to url: String, _ run: EngineRun, whenBegun: (@Sendable (Transfer) -> Void)? = nil
    ) async throws -> Upload {
        let length = Int64(file.content.count)
        let reader = try FileReader(path: file.path, length: length)
        let put = TransferOptions(
            url: try WireURL(parsing: url), method: "PUT", body: .stream(length: length), version: .http1)
        let upload = Upload()
        upload.whenBegun = whenBegun
        await withContinuation { continuation in
            upload.whenEnded = { continuation.resume(returning: ()) }
            run.executor.submit {
                let transfer = run.engine.makeTransfer(put)
                upload.transfer = transfer
                run.engine.start(transfer, delegate: upload)
                transfer.send(reader)
            }
        }
        return upload
    }

    @Test func aFileIsSentByTheSystem() async throws {
        let server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil { try connection.write(Self.good) }
        }
        let run = EngineRun()
        let file = try Temporary(Self.size)
        for _ in 1...2 {
            let upload = try await Self.send(file, to: server.url("/"), run)
            #expect(upload.end?.failure == nil && upload.head?.status == 200)
            #expect(upload.sent == Self.size)
            #expect(upload.end?.report.bytesSent ?? 0 > Int64(Self.size))
        }
        #expect(server.requests.allSatisfy { $0.body == file.content })
        #expect(server.requests.count == 2 && server.acceptedCount == 1)
        await run.finish()
    }

    @Test func aFileThatBecomesShorterIsAnError() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        // The system sends up to 4 MiB at once.
        let file = try Temporary(12 << 20)
        let path = file.path
        let upload = try await Self.send(file, to: server.url("/"), run) { _ in _ = unsafe truncate(path, 1 << 19) }
        #expect(upload.end?.failure?.kind == .bodyFile(path: path))
        #expect(upload.end?.failure?.message == FileError.shrunk.reason)
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    /// The server does not read, and another thread may be sending when the transfer is cancelled.
    @Test func aFileThatNobodyReadsIsCancelled() async throws {
        let isBegun = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.wait(for: isBegun)
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        let file = try Temporary(32 << 20)
        let reader = try FileReader(path: file.path, length: 32 << 20)
        let url = try WireURL(parsing: server.url("/"))
        let put = TransferOptions(url: url, method: "PUT", body: .stream(length: 32 << 20), version: .http1)
        let upload = Upload()
        await withContinuation { continuation in
            upload.whenBegun = { transfer in
                // The next part is being sent then.
                transfer.engine.submit {
                    transfer.cancel()
                    continuation.resume(returning: ())
                }
            }
            run.executor.submit {
                let transfer = run.engine.makeTransfer(put)
                upload.transfer = transfer
                run.engine.start(transfer, delegate: upload)
                transfer.send(reader)
            }
        }
        isBegun.open()
        try await server.waitUntilAllClosed()
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    @Test func aFileWaitsWhileItsTransferIsSuspended() async throws {
        let server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil { try connection.write(Self.good) }
        }
        let run = EngineRun()
        let file = try Temporary(Self.size)
        let upload = try await Self.send(file, to: server.url("/"), run) { transfer in
            transfer.suspend(true)
            transfer.engine.submit { transfer.suspend(false) }
        }
        #expect(upload.end?.failure == nil && upload.sent == Self.size)
        #expect(server.requests.map { $0.body.count } == [Self.size])
        await run.finish()
    }

    /// A file system may report an error that sockets have too.
    @Test func anErrorOfTheFileSystemIsNoEndOfTheConnection() {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        defer { _ = close(ends[0]) }
        func isBroken(_ code: Int32) -> Bool {
            if case .broken(code) = FileReader.failure(code, on: ends[0]) { true } else { false }
        }
        #expect([ENOTCONN, ETIMEDOUT, EACCES, ENOMEM].allSatisfy { !isBroken($0) })
        #expect(isBroken(EPIPE) && isBroken(ECONNRESET))
        _ = close(ends[1])
        #expect(isBroken(ENOTCONN) && isBroken(ETIMEDOUT) && !isBroken(EINVAL))
    }

    /// The server answers before it has read the body, and closes the connection.
    @Test func anEarlyAnswerEndsTheSendingOfAFile() async throws {
        let server = try LoopbackServer { connection in
            guard connection.ordinal == 1 else {
                _ = try connection.nextRequest()
                return try connection.write(Self.good)
            }
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            connection.waitUntilReceived()
        }
        let run = EngineRun()
        let file = try Temporary(Self.size)
        #expect(try await Self.send(file, to: server.url("/"), run).head?.status == 401)
        let again = try await Self.send(file, to: server.url("/"), run)
        #expect(again.head?.status == 200 && again.sent == Self.size)
        await run.finish()
    }

    @Test(arguments: [true, false])
    func aLargeBodyIsReceivedInBlocks(_ isChunked: Bool) async throws {
        var random = SeededGenerator(seed: 2)
        let size = 300_000
        let pieces = (1...12).map { _ in [UInt8](random.bytes(size)) }
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size * 12)"
            try connection.write("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            for piece in pieces {
                try connection.write(
                    isChunked ? Array("\(String(size, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8) : piece)
            }
            if isChunked { try connection.write("0\r\n\r\n") }
        }
        let run = EngineRun()
        let get = try EngineRun.get(server.url("/"))
        let outcome = Upload()
        await withContinuation { continuation in
            outcome.whenEnded = { continuation.resume(returning: ()) }
            run.executor.submit { outcome.transfer = run.engine.start(get, delegate: outcome) }
        }
        #expect(outcome.end?.failure == nil)
        // A block that was used again would have changed an earlier chunk.
        #expect([UInt8](outcome.chunks.joined()) == pieces.flatMap { $0 })
        await run.finish()
    }
}
