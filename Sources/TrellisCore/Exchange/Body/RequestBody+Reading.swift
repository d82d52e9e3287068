package import CurlEngine
public import FoundationEssentials

/// The bytes of a body before it is sent, for adapters, steps and signers.
extension RequestBody {
    /// Returns all bytes of the body. A file, a form or a sequence that can be made again is read for that, and once more when it is sent.
    ///
    /// ```swift
    /// let digest = SHA256.hash(data: try await request.body?.collect(upTo: 1 << 20) ?? Data())
    /// ```
    ///
    /// A sequence that is iterated once (``isReplayable`` is `false`) is not read: nothing would be left to send. Collect such a
    /// sequence yourself, and send ``data(_:contentType:)``.
    ///
    /// - Parameter limit: The maximum number of bytes. A source that promises more is not read.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the body is larger than `limit`, or is read only once; of
    ///   kind ``TrellisError/Kind/file`` for a file that cannot be read; of kind ``TrellisError/Kind/other`` with the error of a sequence;
    ///   `CancellationError` in a cancelled task.
    public func collect(upTo limit: Int) async throws -> Data {
        guard isReplayable else {
            let reason = "its source can be read only once, and nothing would be left to send"
            throw TrellisError(.invalidRequest(.body(reason)))
        }
        return try await collected(upTo: limit)
    }

    /// Returns the hash of all bytes of a body that can be read more than once; `nil` if the hash function is not available.
    package func hash(_ algorithm: MessageDigest.Algorithm) async throws -> [UInt8]? {
        guard let digest = MessageDigest(algorithm) else { return nil }
        let shared = Locked(digest)
        try await pieces().send { chunk in
            try Task.checkCancellation()
            shared.withLock { $0.update(chunk) }
        }
        return shared.withLock { $0.finishBytes() }
    }

    /// The number of bytes; `nil` if it is not known before they are sent.
    package var length: Int64? {
        get async throws { try await pieces().length }
    }

    /// Returns a body of the same bytes in another form.
    ///
    /// - Parameters:
    ///   - length: The number of bytes in that form, if it is known.
    ///   - chunks: A closure that reads these bytes by its first argument, and passes those of the other form to its second one. Each
    ///     sending calls it once.
    package func rewritten(
        length: Int64?,
        _ chunks:
            @escaping @Sendable (_ source: Chunks, _ send: @escaping @Sendable (Data) async throws -> Void)
            async throws -> Void
    ) -> RequestBody {
        let rewritten = Source.stream(length: length, isReplayable: isReplayable) { send in
            try await chunks({ try await pieces().send($0) }, send)
        }
        return RequestBody(rewritten, contentType: contentType)
    }

    private func pieces() async throws -> PieceChunks {
        if case .multipart = source { try await MIMETypes.load() }
        return try PieceChunks([source], source.hasFiles ? try await FileSizes(of: self) : nil)
    }

    /// Returns all bytes of the body, of a source that is read only once too.
    func collected(upTo limit: Int) async throws -> Data {
        if let data {
            guard data.count <= limit else { throw TrellisError.bodyTooLarge(limit) }
            return data
        }
        let pieces = try await pieces()
        if let length = pieces.length, length > limit { throw TrellisError.bodyTooLarge(limit) }
        let collected = Locked(Data())
        try await pieces.send { chunk in
            try Task.checkCancellation()
            try collected.withLock { data throws(TrellisError) in
                guard data.count + chunk.count <= limit else { throw TrellisError.bodyTooLarge(limit) }
                data.append(chunk)
            }
        }
        return collected.withLock { $0 }
    }
}

extension TrellisError {
    /// The error of a body that is larger than its reader allows.
    fileprivate static func bodyTooLarge(_ limit: Int) -> TrellisError {
        TrellisError(.invalidRequest(.body("it is larger than the \(limit) bytes that may be collected")))
    }
}
