import Foundation
import Testing
import Trellis
import TrellisTesting

/// Uploads over a socket are repeated from their beginning, and report their progress.
@Suite(.timeLimit(.minutes(3)))
struct UploadSocketTests {
    /// A kind of request body.
    enum Kind: String, CaseIterable, Sendable { case data, file, stream, form }

    private static let size = 5_000_000

    private func body(_ kind: Kind) throws -> RequestBody {
        let data = Data(repeating: 7, count: Self.size)
        switch kind {
        case .data: return .data(data)
        case .file:
            let path = try temporaryFolder("uploads") + "/body"
            // Other tests may be sending the file.
            try data.write(to: URL(filePath: path), options: .atomic)
            return .file(path)
        case .stream:
            return .stream(length: Int64(data.count)) {
                AsyncStream<Data> { continuation in
                    for _ in 0..<50 { continuation.yield(data.prefix(Self.size / 50)) }
                    continuation.finish()
                }
            }
        case .form:
            var form = MultipartFormData()
            form.append(data, withName: "data")
            return .multipart(form)
        }
    }

    @Test(arguments: Kind.allCases)
    func progressGoesFromNothingToAll(_ kind: Kind) async throws {
        let server = try LoopbackServer.http(storesBodies: false) { .text("\($0.bodyLength)") }
        let session = Session()
        let upload = try session.uploadRequest(body(kind), to: server.url())
        let progress = Task { await upload.uploadProgress.reduce(into: []) { $0.append($1) } }
        let answered = Task { await upload.downloadProgress.reduce(nil) { $1 } }
        let count = try #require(Int64(try await upload.validate().string()))
        let values = await progress.value
        #expect(values.map(\.completedBytes) == values.map(\.completedBytes).sorted())
        #expect(values.last?.completedBytes == count)
        #expect(values.last?.fraction == 1)
        let answer = await answered.value
        #expect(answer?.completedBytes == Int64("\(count)".count))
        #expect(answer?.fraction == 1)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// The progress starts again with another connection: the bytes sent on a kept connection that ended without a response do not count.
    @Test(arguments: [Kind.stream, .file])
    func progressBeginsAnewWithAnotherConnection(_ kind: Kind) async throws {
        let server = try LoopbackServer { connection in
            if connection.ordinal == 1 {
                _ = try connection.readRequest()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
            guard let head = try connection.readHead() else { return }
            let request = try connection.readBody(of: head, storing: false)
            // Because of this end, the connection is not used again.
            if connection.ordinal == 1 { return connection.close() }
            let text = "\(request.bodyLength)"
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        }
        let session = Session()
        _ = try await session.data(server.url("/first"))
        let upload = try session.uploadRequest(body(kind), to: Request(server.url("/second"), method: .put))
        let progress = Task { await upload.uploadProgress.reduce(into: []) { $0.append($1) } }
        #expect(try await upload.validate().string() == "\(Self.size)")
        let values = await progress.value.map(\.completedBytes)
        #expect(values.last == Int64(Self.size) && values.allSatisfy { $0 <= Self.size }, "\(values)")
        await session.shutdown()
    }

    /// The error names the end of the connection, not that the body cannot be sent again because of that.
    @Test(arguments: [true, false], [true, false])
    func theLossOfTheConnectionIsTheReason(_ isReset: Bool, _ isRetried: Bool) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            guard let head = try connection.readHead() else { return }
            _ = try connection.readBody(of: head, storing: false)
            if isReset { connection.reset() } else { connection.close() }
        }
        var configuration = SessionConfiguration()
        if isRetried { configuration.steps.retriers = [RetryPolicy(retryLimit: 1, exponentialBackoffScale: .zero)] }
        let session = Session(configuration: configuration)
        _ = try await session.data(server.url("/first"))
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data(count: 1_000))
        source.finish()
        let request = Request(server.url("/second"), method: .put, body: .stream(chunks))
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == (isRetried ? .bodyNotReplayable : .receive))
        let words = isReset ? "reset by peer" : "the server closed the connection without a response"
        #expect("\(error.map(String.init(describing:)) ?? "")".contains(words), "\(String(describing: error))")
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// A body is sent again from its beginning after an early redirect, or after a refusal that a retrier repeats.
    @Test(arguments: Kind.allCases, [307, 401, 503])
    func aBodyIsSentAgainFromItsBeginning(_ kind: Kind, _ status: Int) async throws {
        let server = try Misbehaviour { connection, head in
            if head.path == "/again" || head["Authorization"] != nil {
                let request = try connection.readBody(of: head, storing: false)
                let text = "\(request.bodyLength)"
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            } else {
                _ = try connection.read(upTo: 1)
                // The system may take the complete body, after which the connection would serve the next request too.
                let fields = "Location: /again\r\nConnection: close\r\nTransfer-Encoding: chunked"
                try connection.write("HTTP/1.1 \(status) Early\r\n\(fields)\r\n\r\n0\r\n\r\n")
                try connection.readToEnd()
            }
        }
        let request = server.request.withInterceptor(Second())
        let upload = try server.session.uploadRequest(body(kind), to: request)
        let response = try await upload.response(of: .data)
        #expect(response.status == .ok)
        let count = try #require(Int(String(decoding: response.value, as: UTF8.self)))
        #expect(kind == .form ? count > Self.size : count == Self.size)
        #expect(await upload.uploadProgress.reduce(nil) { $1 }?.completedBytes == Int64(count))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [307, 401])
    func aSourceThatIsReadOnceIsNotReplayable(_ status: Int) async throws {
        let server = try Misbehaviour { connection, _ in
            _ = try connection.read(upTo: 1)
            try connection.write("HTTP/1.1 \(status) Early\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
            try connection.readToEnd()
        }
        let source = WatchedSource(.endless)
        let upload = server.session.uploadRequest(source, to: server.request.withInterceptor(Second()))
        await expectFailure([.bodyNotReplayable]) { try await upload.data() }
        try await source.released.opened()
        try await server.isHealthyAndLeavesNothing()
    }
}

/// An interceptor that repeats a failed request once, with credentials.
private struct Second: RequestInterceptor {
    func adapt(_ request: Request, context: CallContext) async throws -> Request {
        context.attempt == 1 ? request : request.withHeader(.authorization(bearerToken: "x"))
    }

    func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        context.attempt == 1 ? .retry : .doNotRetry
    }
}
