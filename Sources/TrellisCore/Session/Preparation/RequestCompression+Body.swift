import CurlEngine
import FoundationEssentials
import HTTPTypes

extension Request {
    /// Compresses the body if that is asked for, and puts a small form without files into memory. Does nothing for other requests.
    ///
    /// - Parameter defaults: The session's default fields.
    mutating func resolveBody(defaults: HTTPFields, sizes: FileSizes?) throws(TrellisError) {
        if let compression { try compressBody(by: compression, defaults: defaults, sizes: sizes) }
        guard let body, case .multipart(let form) = body.source else { return }
        let pieces = try form.pieces()
        if pieces.count == 1, case .data(let data) = pieces[0], data.count <= PreparedBody.inlineLimit {
            self.body = .data(data, contentType: body.contentType)
        }
    }

    private mutating func compressBody(
        by compression: RequestCompression, defaults: HTTPFields, sizes: FileSizes?
    ) throws(TrellisError) {
        let existing = headers[.contentEncoding] ?? defaults[.contentEncoding]
        guard try compression.applies(to: self, existing: existing), let body else { return }
        self.body = RequestBody(try compression.compressed(body.source, sizes: sizes), contentType: body.contentType)
        headers[.contentEncoding] = compression.algorithm.rawValue
    }
}

extension RequestCompression {
    fileprivate func compressed(
        _ source: RequestBody.Source, sizes: FileSizes?
    ) throws(TrellisError) -> RequestBody.Source {
        let encoder = try encoder()
        if case .data(let data) = source { return .data(try Self.encode(data, isLast: true, with: encoder)) }
        // Throws at once for a file that cannot be sent.
        let pieces = try PieceChunks([source], sizes)
        return .stream(length: nil, isReplayable: pieces.isReplayable) { send in
            let encoder = Locked(try self.encoder())
            try await pieces.send { chunk in
                let coded = try encoder.withLock { encoder throws(TrellisError) in
                    try Self.encode(chunk, isLast: false, with: encoder)
                }
                if !coded.isEmpty { try await send(coded) }
            }
            let rest = try encoder.withLock { encoder throws(TrellisError) in
                try Self.encode(Data(), isLast: true, with: encoder)
            }
            try await send(rest)
        }
    }

    private func encoder() throws(TrellisError) -> ContentEncoder {
        let name = algorithm.rawValue
        guard let coding = ContentCoding(name: name), let encoder = ContentEncoder(coding, level: level)
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
