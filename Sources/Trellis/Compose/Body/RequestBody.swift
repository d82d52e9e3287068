public import FoundationEssentials

/// The body of a request: bytes in memory, a file, a form, or chunks that are made while they are sent.
public struct RequestBody: Sendable {
    /// Makes the chunks of one sending.
    package typealias Chunks = @Sendable (_ send: @escaping @Sendable (Data) async throws -> Void) async throws -> Void

    package enum Source: Sendable {
        case data(Data)
        case file(path: String)
        /// `isReplayable`: the chunks can be made again, for a request that is sent again.
        case stream(length: Int64?, isReplayable: Bool, chunks: Chunks)
        case multipart(MultipartFormData)
    }

    package let source: Source
    /// The `Content-Type` that is sent unless the request has one of its own.
    public var contentType: String?

    package init(_ source: Source, contentType: String?) {
        self.source = source
        self.contentType = contentType
    }

    /// The body can be sent again: after a redirect, for a retry. Everything can but chunks from a sequence that is iterated
    /// once.
    public var isReplayable: Bool {
        switch source {
        case .data, .file: true
        case .stream(_, let isReplayable, _): isReplayable
        case .multipart(let form): form.parts.allSatisfy(\.body.isReplayable)
        }
    }

    /// It is made while it is sent: a file, a form or a sequence.
    var isPulled: Bool { if case .data = source { false } else { true } }

    /// Bytes in memory.
    public static func data(_ data: Data, contentType: String? = nil) -> RequestBody {
        RequestBody(.data(data), contentType: contentType)
    }

    /// A text, sent as UTF-8.
    public static func string(_ text: String, contentType: String? = "text/plain; charset=utf-8") -> RequestBody {
        RequestBody(.data(Data(text.utf8)), contentType: contentType)
    }

    /// A file, read while it is sent. Its size when the sending begins is the length of the body.
    ///
    /// A file that is missing, no regular file or unreadable is an error before anything is sent; one that shrinks while
    /// it is read is an error then.
    public static func file(_ path: String, contentType: String? = nil) -> RequestBody {
        RequestBody(.file(path: path), contentType: contentType)
    }

    /// Chunks of bytes from an asynchronous sequence, pulled at the pace of the network.
    ///
    /// - Parameters:
    ///   - chunks: The sequence, `Data` or `[UInt8]` or the like. It is iterated once, in a task of its own that is
    ///     cancelled when the request ends. What it throws ends the request with an error of kind
    ///     ``TrellisError/Kind/file`` or ``TrellisError/Kind/other``, and is that error's ``TrellisError/underlying``.
    ///   - length: The number of bytes, where it is known. More or fewer bytes than that are an error. Without it
    ///     HTTP/1.1 sends the body chunked.
    ///   - contentType: The `Content-Type`.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, contentType: String? = nil
    ) -> RequestBody where Chunks.Element: DataProtocol {
        RequestBody(
            .stream(length: length, isReplayable: false) { send in try await chunks.send(to: send) },
            contentType: contentType)
    }

    /// As ``stream(_:length:contentType:)``, with a sequence that can be made again: a request that has to be sent again,
    /// after a redirect or for a retry, is.
    ///
    /// - Parameter makeChunks: Makes the sequence anew for each sending, in the task that sends. The bytes must be the
    ///   same each time.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, contentType: String? = nil,
        makingChunks makeChunks: @escaping @Sendable () async throws -> Chunks
    ) -> RequestBody where Chunks.Element: DataProtocol {
        RequestBody(
            .stream(length: length, isReplayable: true) { send in try await makeChunks().send(to: send) },
            contentType: contentType)
    }

    /// A form, streamed from its parts. Sent with its exact length where that of every part is known.
    ///
    /// A `Content-Type` field of the request's own would have to name the form's ``MultipartFormData/boundary``.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        RequestBody(.multipart(form), contentType: form.contentType)
    }

    /// Parts without names, as `multipart/mixed` (RFC 2046, section 5.1.3): a body for itself, or one part of a form that
    /// holds several files.
    ///
    /// - Parameter boundary: What separates the parts; random unless given.
    public static func multipartMixed(_ parts: [MultipartFormData.Part], boundary: String? = nil) -> RequestBody {
        var form = MultipartFormData(boundary: boundary)
        form.subtype = .mixed
        for part in parts { form.append(part) }
        return .multipart(form)
    }
}

extension AsyncSequence where Element: DataProtocol {
    fileprivate func send(to send: (Data) async throws -> Void) async throws {
        for try await chunk in self { try await send((chunk as? Data) ?? Data(chunk)) }
    }
}
