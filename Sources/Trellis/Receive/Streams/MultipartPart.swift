public import FoundationEssentials
public import HTTPTypes

/// A part of a multipart response. The body of the part is received as it is read.
public struct MultipartPart: Sendable {
    /// The fields of the part's head, in the order of their arrival.
    public let headers: HTTPFields
    /// The body of the part, to be read once, before the next part is requested.
    public let body: Body

    init(_ number: Int, _ headers: HTTPFields, _ reader: MultipartReader) {
        self.headers = headers
        body = Body(number: number, reader: reader)
    }

    /// The body of a part.
    public struct Body: AsyncSequence, Sendable {
        /// A chunk: bytes of the part's body, as many as have been received.
        public typealias Element = Data

        fileprivate let number: Int
        fileprivate let reader: MultipartReader

        /// Returns an iterator that reads the body.
        public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

        /// The iterator over a part's body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let body: Body

            /// Returns the next bytes; `nil` at the end of the part.
            ///
            /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/other`` if the next part has been requested already, and the
            ///   errors of ``MultipartSequence/Iterator/next()``.
            public mutating func next() async throws -> Data? { try await body.reader.nextBytes(of: body.number) }

            /// Returns the next bytes, as ``next()`` does. Runs on the actor of the caller, regardless of the argument.
            public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Data? {
                try await next()
            }
        }

        /// Returns the rest of the part in one piece.
        ///
        /// - Parameter limit: The maximum number of bytes.
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` above the limit, and the errors of reading.
        public func collect(upTo limit: Int) async throws -> Data {
            var all = Data()
            for try await bytes in self {
                guard all.count + bytes.count <= limit else { throw TrellisError.tooLong("a part", limit: limit) }
                all.append(bytes)
            }
            return all
        }
    }
}
