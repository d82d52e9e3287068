import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The conversion of bodies before they are sent.
extension RequestPreparation {
    /// Compresses the body if that is asked for, and puts a small form without files into memory. Does nothing for other requests.
    static func resolveBody(of request: inout Request, defaults: HTTPFields, _ sizes: FileSizes?) throws(TrellisError) {
        if let compression = request.compression {
            try compress(&request, with: compression, defaults: defaults, sizes: sizes)
        }
        guard let body = request.body, case .multipart(let form) = body.source else { return }
        let pieces = try form.pieces()
        if pieces.count == 1, case .data(let data) = pieces[0], data.count <= inlineBodyLimit {
            request.body = .data(data, contentType: body.contentType)
        }
    }

    private static func compress(
        _ request: inout Request, with compression: RequestCompression, defaults: HTTPFields, sizes: FileSizes?
    ) throws(TrellisError) {
        let existing = request.headers[.contentEncoding] ?? defaults[.contentEncoding]
        guard try compression.applies(to: request, existing: existing), let body = request.body else { return }
        request.body = RequestBody(
            try compressed(body.source, with: compression, sizes: sizes), contentType: body.contentType)
        request.headers[.contentEncoding] = compression.algorithm.rawValue
    }

    private static func compressed(
        _ source: RequestBody.Source, with compression: RequestCompression, sizes: FileSizes?
    ) throws(TrellisError) -> RequestBody.Source {
        let encoder = try encoder(compression)
        if case .data(let data) = source { return .data(try encode(data, isLast: true, with: encoder)) }
        // Throws at once for a file that cannot be sent.
        let pieces = try PieceChunks([source], sizes)
        return .stream(length: nil, isReplayable: pieces.isReplayable) { send in
            let encoder = Locked(try Self.encoder(compression))
            try await pieces.send { chunk in
                let coded = try encoder.withLock { encoder throws(TrellisError) in
                    try encode(chunk, isLast: false, with: encoder)
                }
                if !coded.isEmpty { try await send(coded) }
            }
            let rest = try encoder.withLock { encoder throws(TrellisError) in
                try encode(Data(), isLast: true, with: encoder)
            }
            try await send(rest)
        }
    }

    private static func encoder(_ compression: RequestCompression) throws(TrellisError) -> ContentEncoder {
        let name = compression.algorithm.rawValue
        guard let coding = ContentCoding(name: name), let encoder = ContentEncoder(coding, level: compression.level)
        else { throw TrellisError(.unsupported("compressing with \(name)")) }
        return encoder
    }

    private static func encode(
        _ data: Data, isLast: Bool, with encoder: ContentEncoder
    ) throws(TrellisError) -> Data {
        do throws(ContentEncoder.Failure) {
            return try encoder.encode(data, isLast: isLast)
        } catch {
            throw TrellisError(.other("no memory to compress the body"))
        }
    }
}

extension Delivery {
    /// The size of libcurl's receive buffer in bytes. Older versions of libcurl allocate such a buffer for each transfer.
    var bufferSize: Int {
        switch self {
        // Collected bodies are mostly small.
        case .memory: 16 << 10
        case .stream: 256 << 10
        // libcurl only makes the connection; its smallest buffer is enough.
        case .connection: 1 << 10
        }
    }
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
