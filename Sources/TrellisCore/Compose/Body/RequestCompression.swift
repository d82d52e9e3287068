import HTTPTypes

/// The compression of a request's body before it is sent.
///
/// ```swift
/// request.compression = .gzip
/// request.compression = RequestCompression(.zstd, duplicateHeaderBehavior: .skip) { request in
///     request.headers[.contentType] == "application/json"
/// }
/// ```
///
/// A body in memory is compressed completely, in the caller's task, and sent with its length: if the task prefers
/// ``Session/executor``, the session's other requests wait meanwhile. Files, forms and streams are compressed while they are
/// sent, off the session's thread, and without a length: HTTP/1.1 sends them chunked, which some servers do not accept. A request
/// without a body, or with an empty one, is left as it is.
///
/// Use compression only for servers that are known to accept it: HTTP has no way to ask beforehand (RFC 9110, section 8.4; a
/// server that does not accept the coding responds 415).
public struct RequestCompression: Sendable {
    /// A content coding.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// The gzip format (RFC 1952), the most widely supported coding.
        case gzip
        /// A zlib stream (RFC 1950).
        case deflate
        /// The Brotli format (RFC 7932), if the system has its encoder, `libbrotlienc`; otherwise an error of kind
        /// ``TrellisError/Kind/unsupported``.
        case brotli = "br"
        /// The Zstandard format (RFC 8878), if libcurl or the system has `libzstd`; otherwise an error of kind
        /// ``TrellisError/Kind/unsupported``.
        case zstd
    }

    /// The treatment of a request that has a `Content-Encoding` already, of its own or from the session's defaults.
    public enum DuplicateHeaderBehavior: Sendable, Hashable, CaseIterable {
        /// An error of kind ``TrellisError/Kind/invalidRequest``, with which the request fails.
        case error
        /// Compression of the body, with the coding as the field's new value.
        case replace
        /// The unchanged request.
        case skip
    }

    /// The content coding; gzip by default.
    public var algorithm: Algorithm
    /// The compression level, in the coding's own scale: 1 to 9 for gzip and deflate, 0 to 11 for br, 1 to 19 for zstd; if `nil`, a
    /// medium level.
    public var level: Int?
    /// The treatment of a request that has a `Content-Encoding` already; an error by default.
    public var duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// The closure that returns whether a request with a body is to be compressed; each one is by default.
    public var shouldCompress: @Sendable (Request) -> Bool

    /// Creates a compression.
    ///
    /// - Parameters:
    ///   - algorithm: The content coding; gzip by default.
    ///   - level: The compression level; if `nil`, a medium level.
    ///   - duplicateHeaderBehavior: The treatment of a request that has a `Content-Encoding` already; an error by default.
    ///   - shouldCompress: The closure that returns whether a request with a body is to be compressed; by default every request
    ///     is. The closure is called once for each sending, in the caller's task.
    public init(
        _ algorithm: Algorithm = .gzip, level: Int? = nil, duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompress: @escaping @Sendable (Request) -> Bool = { _ in true }
    ) {
        self.algorithm = algorithm
        self.level = level
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompress = shouldCompress
    }

    /// The `gzip` coding, for every request.
    public static var gzip: RequestCompression { RequestCompression(.gzip) }
    /// The `deflate` coding, for every request.
    public static var deflate: RequestCompression { RequestCompression(.deflate) }
}

extension RequestCompression {
    /// Returns `true` if the body of a request is to be compressed.
    ///
    /// - Parameter existing: The `Content-Encoding` that the request would be sent with.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if there is an `existing` coding and
    ///   ``duplicateHeaderBehavior`` is ``DuplicateHeaderBehavior/error``.
    package func applies(to request: Request, existing: String?) throws(TrellisError) -> Bool {
        switch request.body?.source {
        case nil: return false
        case .data(let data) where data.isEmpty: return false
        default: break
        }
        guard shouldCompress(request) else { return false }
        guard let existing else { return true }
        switch duplicateHeaderBehavior {
        case .replace: return true
        case .skip: return false
        case .error:
            throw TrellisError(.invalidRequest(.body("compression is on, but Content-Encoding is already \(existing)")))
        }
    }
}
