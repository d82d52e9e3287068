import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The body of a request as its exchange sends it.
struct PreparedBody {
    /// The size in bytes up to which bodies are passed to the transport in one piece; larger ones are passed in slices.
    static let inlineLimit = 64 << 10

    /// The body as the transport gets it.
    private(set) var wire: TransferOptions.Body
    /// The chunks of a body that is produced while it is sent; `nil` if the transport has all bytes.
    private(set) var streamed: PreparedRequest.StreamedBody?

    /// - Parameter isStreamed: Whether bytes in memory are passed in slices too, however few they are.
    init(of request: Request, isStreamed: Bool, sizes: FileSizes?) throws(TrellisError) {
        let source = request.body?.source
        streamed = try source.flatMap { source throws(TrellisError) in
            try Self.chunks(of: source, isStreamed: isStreamed, sizes: sizes)
        }
        if let streamed {
            wire = .stream(length: streamed.length)
        } else if case .data(let data)? = source {
            wire = .bytes([UInt8](data))
        } else {
            wire = request.method.expectsContent ? .bytes([]) : .none
        }
        if source != nil, let trailers = request.trailers { append(trailers) }
    }

    /// Whether there is a body, which may be empty.
    var exists: Bool { if case .none = wire { false } else { true } }

    /// Returns the chunks of a body; `nil` if it is passed in one piece.
    private static func chunks(
        of source: RequestBody.Source, isStreamed: Bool, sizes: FileSizes?
    ) throws(TrellisError) -> PreparedRequest.StreamedBody? {
        switch source {
        case .data(let data):
            guard !data.isEmpty, isStreamed || data.count > inlineLimit else { return nil }
            return .init(length: Int64(data.count), isReplayable: true) { try await slices(of: data, $0) }
        case .file(let path):
            let length = try FileChunks.size(ofFileAt: path, sizes)
            return .init(length: length, isReplayable: true, file: path) {
                try await FileChunks.send(fileAt: path, length: length, $0)
            }
        case .stream(let length, let isReplayable, let chunks):
            try PieceChunks.check(length: length)
            return .init(length: length, isReplayable: isReplayable, chunks: chunks)
        case .multipart(let form):
            let pieces = try PieceChunks(form.pieces(), sizes)
            return .init(length: pieces.length, isReplayable: pieces.isReplayable) { try await pieces.send($0) }
        }
    }

    private static func slices(of data: Data, _ send: @Sendable (Data) async throws -> Void) async throws {
        var rest = data
        while !rest.isEmpty {
            try await send(rest.prefix(FileChunks.chunkSize))
            rest = rest.dropFirst(FileChunks.chunkSize)
        }
    }

    // MARK: Trailers

    /// Adds the fields after the body (RFC 9110, section 6.5), which is chunked then.
    private mutating func append(_ trailers: @escaping RequestTrailers) {
        if case .bytes(let bytes) = wire {
            streamed = .init(length: Int64(bytes.count), isReplayable: true) { send in
                if !bytes.isEmpty { try await send(Data(bytes)) }
            }
        }
        wire = .stream(length: nil)
        streamed = streamed?.with { try await Self.checked(trailers) }
    }

    /// Returns the fields. None of them concerns the framing, the routing, the authentication or the content of a message, which are read
    /// before it (RFC 9110, section 6.5.1).
    private static func checked(_ trailers: RequestTrailers) async throws -> HTTPFields {
        let fields: HTTPFields
        do {
            fields = try await trailers()
        } catch {
            throw TrellisError(.bodyFailed(.sourceFailed), underlying: error)
        }
        for field in fields where forbidden.contains(field.name.canonicalName) {
            throw TrellisError(.invalidRequest(.body("\(field.name) is no trailer")))
        }
        if let name = fields.invalidName { throw TrellisError.invalidFieldName(name) }
        return fields
    }

    private static let forbidden: Set<String> = [
        "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-range",
        "content-type", "cookie",
        "expect", "host", "keep-alive", "max-forwards", "pragma", "proxy-authorization", "proxy-connection", "range",
        "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
}

/// The maximum sizes, in bytes, of the pieces that a transfer sends and receives while its bandwidth is limited: small pieces let the
/// transfer pause in time. A size is `nil` if its direction has no limit.
struct PieceSizes {
    let send: Int?
    let receive: Int?

    init(_ request: Request, _ configuration: SessionConfiguration) {
        send = [request.bandwidth.upload, configuration.bandwidth.upload].compactMap { $0?.quantum }.min()
        // The smallest buffer of libcurl has 1,024 bytes.
        receive = [request.bandwidth.download, configuration.bandwidth.download].compactMap { $0?.quantum }.min()
            .map { max($0, 1024) }
    }
}

extension Delivery {
    /// The size of libcurl's receive buffer over HTTP/3, in bytes. Older versions of libcurl allocate such a buffer for each request.
    var bufferSize: Int {
        switch self {
        // Collected bodies are mostly small.
        case .memory: 16 << 10
        case .stream: 256 << 10
        // No body is received.
        case .connection: 1 << 10
        }
    }
}
