import CurlEngine

/// The parts of a multipart body (RFC 2046, section 5.1): `multipart/mixed`, `multipart/byteranges`,
/// `multipart/x-mixed-replace`.
///
/// Read the body of a part before you request the next part, or not at all; the unread rest is read and dropped. Memory is
/// bounded: only bytes of a part that have been received and not been read are held. Parts that are multipart themselves are
/// returned as they are.
public struct MultipartSequence: AsyncSequence, Sendable {
    /// A part: the head, and the body as it is received.
    public typealias Element = MultipartPart

    /// The default limit on the head of a part in bytes: 16 KiB.
    public static let maximumPartHeadSize = 16 << 10

    private let body: ResponseBody
    private let contentType: String?
    private let limit: Int

    init(_ body: ResponseBody, contentType: String?, limit: Int) {
        self.body = body
        self.contentType = contentType
        self.limit = limit
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator {
        do throws(TrellisError) {
            let boundary = try MultipartDelimiter(contentType: contentType)
            let mayStop = contentType?.lowercasedASCII().hasBytePrefix("multipart/x-mixed-replace") ?? false
            let parser = MultipartParser(boundary, maximumHeadSize: limit, mayStopAnywhere: mayStop)
            return Iterator(state: .reading(MultipartReader(BodyReader(parser, body))))
        } catch {
            return Iterator(state: .failed(body.completed(error)))
        }
    }

    /// The iterator over the parts.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate enum State {
            case reading(MultipartReader)
            case failed(any Error)
            case done
        }

        fileprivate var state: State

        /// Returns the next part; `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableContentType`` if the `Content-Type` is not
        ///   `multipart`, of kind ``TrellisError/Kind/serialization`` if the type has no boundary or the head of a part is
        ///   malformed, of kind ``TrellisError/Kind/bodyTooLarge`` for a head above the limit, of kind
        ///   ``TrellisError/Kind/truncatedBody`` for a body without its last boundary (`multipart/x-mixed-replace` needs
        ///   none); and the errors of ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> MultipartPart? {
            switch state {
            case .reading(let reader):
                return try await reader.nextPart().map { MultipartPart(number: $0.number, $0.head, reader) }
            case .failed(let error):
                state = .done
                throw error
            case .done: return nil
            }
        }

        /// Returns the next part, as ``next()`` does. Runs on the actor of the caller, regardless of the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> MultipartPart?
        {
            try await next()
        }
    }
}
