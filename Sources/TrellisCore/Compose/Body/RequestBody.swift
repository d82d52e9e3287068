import CurlEngine
public import FoundationEssentials

/// The body of a request: bytes in memory, a file, a form, or chunks that are made while the body is sent.
public struct RequestBody: Sendable {
    /// A closure that makes the chunks of a body and passes them to `send`, once for each sending.
    package typealias Chunks = @Sendable (_ send: @escaping @Sendable (Data) async throws -> Void) async throws -> Void

    /// The source of a body's bytes.
    package enum Source: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// The bytes of a file, which are read while they are sent.
        case file(path: String)
        /// A sequence of chunks. `isReplayable`: the chunks can be made again, for a request that is sent again.
        case stream(length: Int64?, isReplayable: Bool, chunks: Chunks)
        /// The parts of a form, which are encoded while they are sent.
        case multipart(MultipartFormData)
    }

    /// The source of the body's bytes.
    package let source: Source
    /// The `Content-Type` that is sent unless the request has a field of its own; `nil` if the body has no type, so that the
    /// session's default applies.
    public var contentType: String?

    /// Creates a body from its source.
    package init(_ source: Source, contentType: String?) {
        self.source = source
        self.contentType = contentType
    }

    /// The bytes, if they are in memory: `nil` for a file, a form or a sequence, which ``collect(upTo:)`` reads.
    public var data: Data? { if case .data(let data) = source { data } else { nil } }

    /// Whether the body can be sent again, after a redirect or for a retry. All bodies can, except chunks from a
    /// sequence that is iterated once.
    public var isReplayable: Bool {
        switch source {
        case .data, .file: true
        case .stream(_, let isReplayable, _): isReplayable
        case .multipart(let form): form.parts.allSatisfy(\.body.isReplayable)
        }
    }

    /// Whether the body is made while it is sent: a file, a form or a sequence.
    var isPulled: Bool { if case .data = source { false } else { true } }

    /// Returns a body of bytes in memory.
    public static func data(_ data: Data, contentType: String? = nil) -> RequestBody {
        RequestBody(.data(data), contentType: contentType)
    }

    /// Returns a body with a text, sent as UTF-8.
    public static func string(_ text: String, contentType: String? = "text/plain; charset=utf-8") -> RequestBody {
        RequestBody(.data(Data(text.utf8)), contentType: contentType)
    }

    /// Returns a body with the contents of a file, which is read while it is sent. The size of the file when sending begins is
    /// the length of the body.
    ///
    /// A file that is missing, unreadable or not a regular file is an error before anything is sent; a file that shrinks while it
    /// is read is an error at that time.
    public static func file(_ path: some FilePathConvertible, contentType: String? = nil) -> RequestBody {
        RequestBody(.file(path: path.filePath), contentType: contentType)
    }

    /// Returns a body with chunks of bytes from an asynchronous sequence, read at the pace of the network.
    ///
    /// - Parameters:
    ///   - chunks: The sequence, of `Data`, `[UInt8]` or similar elements. The sequence is iterated once, in a separate task
    ///     that is cancelled when the request ends. Sending the body a second time is an error of kind
    ///     ``TrellisError/Kind/bodyNotReplayable``. An error that the sequence throws ends the request with an error of kind
    ///     ``TrellisError/Kind/other``, whose ``TrellisError/underlying`` is the error of the sequence.
    ///   - length: The number of bytes, if known. More or fewer bytes are an error. Without a length, HTTP/1.1 sends the body
    ///     chunked.
    ///   - contentType: The `Content-Type`.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, contentType: String? = nil
    ) -> RequestBody where Chunks.Element: DataProtocol {
        let isUsed = Locked(false)
        return RequestBody(
            .stream(length: length, isReplayable: false) { send in
                let isUsedAgain = isUsed.withLock { isUsed in
                    defer { isUsed = true }
                    return isUsed
                }
                guard !isUsedAgain else { throw TrellisError(.bodyFailed(.notReplayable)) }
                try await chunks.send(to: send)
            },
            contentType: contentType)
    }

    /// Returns a body like ``stream(_:length:contentType:)``, with a sequence that can be made again, so that the request can be
    /// sent again after a redirect or for a retry.
    ///
    /// - Parameters:
    ///   - length: The length in bytes, if it is known.
    ///   - contentType: The type of the body, if there is one.
    ///   - makeChunks: The closure that makes the sequence for each sending, in the task that sends. The bytes must be
    ///     the same each time.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, contentType: String? = nil,
        makingChunks makeChunks: @escaping @Sendable () async throws -> Chunks
    ) -> RequestBody where Chunks.Element: DataProtocol {
        RequestBody(
            .stream(length: length, isReplayable: true) { send in
                let chunks: Chunks
                do {
                    chunks = try await makeChunks()
                } catch {
                    throw TrellisError(.bodyFailed(.sourceFailed), underlying: error)
                }
                try await chunks.send(to: send)
            },
            contentType: contentType)
    }

    /// Returns a body with a form, streamed from its parts. The form is sent with its exact length if the length of every part is
    /// known.
    ///
    /// If the request has a `Content-Type` field of its own, the field must contain the form's ``MultipartFormData/boundary``.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        RequestBody(.multipart(form), contentType: form.contentType)
    }

    /// Returns a body of parts without names, as `multipart/mixed` (RFC 2046, section 5.1.3): a body of its own, or a single part
    /// of a form that holds several files.
    ///
    /// - Parameters:
    ///   - parts: The parts, in the order in which they are sent.
    ///   - boundary: The boundary between the parts; random by default.
    public static func multipartMixed(_ parts: [MultipartFormData.Part], boundary: String? = nil) -> RequestBody {
        var form = MultipartFormData(boundary: boundary)
        form.subtype = .mixed
        for part in parts { form.append(part) }
        return .multipart(form)
    }
}

extension AsyncSequence where Element: DataProtocol {
    /// Passes each element to `send` as `Data`.
    ///
    /// - Throws: The errors of `send`; ``TrellisError`` of reason ``TrellisError/BodyFailure/sourceFailed`` for an error of the
    ///   sequence, even if that is a ``TrellisError`` of another request.
    fileprivate func send(to send: (Data) async throws -> Void) async throws {
        var failure: (any Error)?
        do {
            for try await chunk in self {
                do {
                    try await send((chunk as? Data) ?? Data(chunk))
                } catch {
                    failure = error
                    break
                }
            }
        } catch {
            throw TrellisError(.bodyFailed(.sourceFailed), underlying: error)
        }
        if let failure { throw failure }
    }
}
