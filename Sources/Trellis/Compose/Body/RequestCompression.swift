import HTTPTypes

/// How the body of a request is compressed before it is sent.
///
/// ```swift
/// request.compression = .gzip
/// request.compression = RequestCompression(.zstd, duplicateHeaderBehavior: .skip) { request in
///     request.headerFields[.contentType] == "application/json"
/// }
/// ```
///
/// A body in memory is compressed whole, in the caller's task, and sent with its length: a task that prefers
/// ``Session/executor`` holds up the session's other requests meanwhile. Files, forms and streams are
/// compressed while they are sent, off the session's thread, and without a length: HTTP/1.1 sends them chunked, which not
/// every server takes. A request without a body, or with an empty one, is left as it is.
///
/// Only for servers that are known to take such bodies: nothing in HTTP tells beforehand (RFC 9110, section 8.4; a server
/// that does not answers 415).
public struct RequestCompression: Sendable {
    /// A content coding.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// RFC 1952. Understood most widely.
        case gzip
        /// A zlib stream (RFC 1950).
        case deflate
        /// RFC 7932, where the system has its encoder, `libbrotlienc`; an error of kind
        /// ``TrellisError/Kind/unsupported`` where it has not.
        case brotli = "br"
        /// RFC 8878, where libcurl or the system has `libzstd`; an error of kind ``TrellisError/Kind/unsupported`` where
        /// neither has.
        case zstd
    }

    /// What to do with a request that has a `Content-Encoding` already, of its own or from the session's defaults.
    public enum DuplicateHeaderBehavior: Sendable, Hashable, CaseIterable {
        /// The request fails with an error of kind ``TrellisError/Kind/invalidRequest``.
        case error
        /// The body is compressed, and the field says how; what it said is forgotten.
        case replace
        /// The request is sent as it is.
        case skip
    }

    /// The coding.
    public var algorithm: Algorithm
    /// How hard to try, in the coding's own levels: 1 to 9 for gzip and deflate, 0 to 11 for br, 1 to 19 for zstd. `nil`:
    /// a middle one.
    public var level: Int?
    /// What to do with a request that has a `Content-Encoding` already.
    public var duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Whether a request that has a body is to be compressed.
    public var shouldCompress: @Sendable (Request) -> Bool

    /// Compression.
    ///
    /// - Parameters:
    ///   - algorithm: The coding, gzip unless given.
    ///   - level: How hard to try; `nil`: a middle level.
    ///   - duplicateHeaderBehavior: What to do with a request that has a `Content-Encoding` already; an error unless given.
    ///   - shouldCompress: Whether a request that has a body is to be compressed; every one unless given. Called once for
    ///     each sending, in the caller's task.
    public init(
        _ algorithm: Algorithm = .gzip, level: Int? = nil, duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompress: @escaping @Sendable (Request) -> Bool = { _ in true }
    ) {
        self.algorithm = algorithm
        self.level = level
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompress = shouldCompress
    }

    /// `gzip`, for every request.
    public static var gzip: RequestCompression { RequestCompression(.gzip) }
    /// `deflate`, for every request.
    public static var deflate: RequestCompression { RequestCompression(.deflate) }
}

extension RequestCompression {
    /// Whether a request is compressed.
    ///
    /// - Parameter existing: The `Content-Encoding` that the request would be sent with.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest``.
    func applies(to request: Request, existing: String?) throws(TrellisError) -> Bool {
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
            throw TrellisError(.invalidRequest(.body("it is to be compressed, and has the coding \(existing) already")))
        }
    }
}
