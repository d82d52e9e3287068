import AsyncHTTPClient
import ClientKit
import FoundationEssentials
import NIOCore
import NIOFoundationEssentialsCompat
import NIOHTTP1
import NIOSSL
import _NIOFileSystem

/// The client of AsyncHTTPClient's async API.
struct AsyncHTTPClientClient: Client {
    private let client: HTTPClient
    /// The time limit of a request, long enough for every benchmark: 10,000 requests share one machine.
    private let timeout: TimeAmount = .seconds(120)

    init(_ work: Work) throws {
        var configuration = HTTPClient.Configuration()
        // The default of 8 connections per host would delay the rest of the requests.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = work.concurrency
        configuration.timeout.connect = timeout
        if work.speaksHTTP1 { configuration.httpVersion = .http1Only }
        if let file = work.certificateAuthorityFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(file)
            configuration.tlsConfiguration = tls
        }
        // One event loop per core. A single event loop was measured too, and was slower with 16 and more requests in flight.
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func get(_ url: String) async throws -> Int {
        let response = try await execute(HTTPClientRequest(url: url))
        return try await response.body.collect(upTo: 1 << 20).readableBytes
    }

    func getReadingHeaders(_ url: String) async throws -> Int {
        let response = try await execute(HTTPClientRequest(url: url))
        _ = try await response.body.collect(upTo: 1 << 20)
        return response.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }

    func post(_ json: Data, to url: String) async throws -> Data {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "Accept", value: "application/json")
        request.body = .bytes(json)
        let body = try await execute(request).body.collect(upTo: 1 << 20)
        return Data(buffer: body)
    }

    func download(_ url: String, into sink: inout ByteSink) async throws {
        let response = try await execute(HTTPClientRequest(url: url))
        for try await buffer in response.body {
            try buffer.withUnsafeReadableBytes { try sink.receive($0) }
        }
    }

    /// Downloads with NIO's file system, and its buffered writer in front of the file.
    func download(_ url: String, toFile path: String) async throws -> Int64 {
        let response = try await execute(HTTPClientRequest(url: url))
        return try await FileSystem.shared.withFileHandle(
            forWritingAt: FilePath(path), options: .newFile(replaceExisting: true)
        ) { file in
            try await file.withBufferedWriter { writer in
                var length: Int64 = 0
                for try await buffer in response.body { length += try await writer.write(contentsOf: buffer) }
                return length
            }
        }
    }

    func upload(file: String, to url: String) async throws -> Int {
        let chunks = try FileChunks(path: file, chunkSize: 256 << 10)
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.body = .stream(chunks.buffers, length: .known(chunks.length))
        let body = try await execute(request).body.collect(upTo: 1 << 20)
        return Int(String(buffer: body).dropLast()) ?? 0
    }

    /// Splits lines as code written by hand on NIO's buffers does: LF and CRLF, with NIO's own search and conversion.
    func readLines(_ url: String) async throws -> (count: Int, bytes: Int) {
        var (count, bytes) = (0, 0)
        func take(_ line: String) {
            count += 1
            bytes += line.utf8.count + 1
        }
        var pending = ByteBuffer()
        for try await var buffer in try await execute(HTTPClientRequest(url: url)).body {
            pending.writeBuffer(&buffer)
            while let end = pending.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                let length = end - pending.readerIndex
                let hasReturn = length > 0 && pending.getInteger(at: end - 1) == UInt8(ascii: "\r")
                guard let line = pending.readString(length: hasReturn ? length - 1 : length) else { break }
                pending.moveReaderIndex(to: end + 1)
                take(line)
            }
            pending.discardReadBytes()
        }
        if let line = pending.readString(length: pending.readableBytes), !line.isEmpty { take(line) }
        return (count, bytes)
    }

    func shutdown() async {
        try? await client.shutdown()
    }

    private func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let response = try await client.execute(request, timeout: timeout)
        guard response.status == .ok else { throw UnexpectedAnswer("status \(response.status)") }
        return response
    }
}
