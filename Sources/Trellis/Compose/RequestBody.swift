public import FoundationEssentials

/// The body of a request: bytes in memory, a file, or chunks that are made while they are sent.
public struct RequestBody: Sendable {
    /// Makes the chunks of one sending.
    package typealias Chunks = @Sendable (_ send: @Sendable (Data) async throws -> Void) async throws -> Void

    package enum Source: Sendable {
        case data(Data)
        case file(path: String)
        case stream(length: Int64?, chunks: Chunks)
    }

    package let source: Source
    /// The `Content-Type` that is sent unless the request has one of its own.
    public var contentType: String?

    private init(_ source: Source, contentType: String?) {
        self.source = source
        self.contentType = contentType
    }

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
            .stream(length: length) { send in
                for try await chunk in chunks { try await send((chunk as? Data) ?? Data(chunk)) }
            }, contentType: contentType)
    }
}
