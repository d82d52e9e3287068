import CurlEngine
import FoundationEssentials

/// The body of a stored response, for the reader of a stream.
final class CachedBodySource: ChunkSource {
    /// The number of bytes that are read from the storage at a time.
    private static let pieceSize: Int64 = 256 << 10

    private let body: any CachedBody
    private let coded: CodedBody?
    private let response: Response
    /// The bytes that have not been read; `nil` after a cancellation.
    private let rest: Locked<Range<Int64>?>

    init(_ body: any CachedBody, _ range: Range<Int64>, _ coded: CodedBody?, _ response: Response) {
        self.body = body
        self.coded = coded
        self.response = response
        rest = Locked(range)
    }

    var metrics: Metrics? { get async { response.metrics } }

    func next() async throws -> Data? {
        while true {
            try Task.checkCancellation()
            if let piece = try coded?.next() { return piece }
            let range = try rest.withLock { rest in
                guard let all = rest else { throw CancellationError() }
                let range = all.lowerBound..<min(all.lowerBound + Self.pieceSize, all.upperBound)
                rest = range.upperBound..<all.upperBound
                return range
            }
            guard !range.isEmpty else {
                try coded?.finish()
                return nil
            }
            let bytes = try await body.bytes(in: range)
            guard let coded else { return bytes }
            if let piece = try coded.decode(bytes) { return piece }
        }
    }

    func finalResponse() async throws -> Response { response }

    func cancel(explicitly: Bool) { rest.withLock { $0 = nil } }
}

/// The body of a response that is stored while it is read: completely, or not at all.
final class StoringSource: ChunkSource {
    private let token: TransferToken
    /// The writer of the entry; `nil` if nothing is stored, or not any more.
    private let writer: Locked<(any CacheWriter)?>
    private let coded: CodedBody?
    private let status: CacheStatus

    init(_ token: TransferToken, _ writer: (any CacheWriter)?, _ coded: CodedBody?, _ status: CacheStatus) {
        self.token = token
        self.writer = Locked(writer)
        self.coded = coded
        self.status = status
    }

    var request: Request? { token.source.request }
    var observer: (any ReadingObserver)? { token.source.observer }
    var metrics: Metrics? {
        get async {
            var metrics = await token.source.metrics
            metrics?.cacheStatus = status
            return metrics
        }
    }

    func next() async throws -> Data? {
        while true {
            if let piece = try coded?.next() { return piece }
            guard let chunk = try await received() else {
                try coded?.finish()
                return nil
            }
            guard let coded else { return chunk }
            if let piece = try coded.decode(chunk) { return piece }
        }
    }

    /// Returns the next bytes as they were received, after they were stored; `nil` at the end, when the entry is complete.
    private func received() async throws -> Data? {
        do {
            let chunk = try await token.source.next()
            // A body whose content coding is not complete is not stored.
            if chunk == nil { try coded?.finish() }
            guard let writer = writer.withLock({ $0 }) else { return chunk }
            do {
                if let chunk {
                    try await writer.write(chunk)
                } else {
                    try await writer.commit()
                    self.writer.withLock { $0 = nil }
                }
            } catch {
                await drop()
            }
            return chunk
        } catch {
            await drop()
            throw error
        }
    }

    private func drop() async {
        let writer = writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
        await writer?.discard()
    }

    func finalResponse() async throws -> Response {
        while try await next() != nil {}
        return try await token.source.finalResponse().with(status)
    }

    func cancel(explicitly: Bool) {
        let writer = writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
        if let writer { Task { await writer.discard() } }
        token.source.cancel(explicitly: explicitly)
    }

    func hold(_ isHeld: Bool) { token.source.hold(isHeld) }
}
