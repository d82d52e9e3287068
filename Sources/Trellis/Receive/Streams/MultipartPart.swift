public import FoundationEssentials
public import HTTPTypes

/// A part of a multipart response. Its body comes as it is read.
public struct MultipartPart: Sendable {
    /// The fields of its head, in the order of their arrival.
    public let headerFields: HTTPFields
    /// Its body, to be read once, before the next part is asked for.
    public let body: Body

    init(_ number: Int, _ headerFields: HTTPFields, _ reader: MultipartReader) {
        self.headerFields = headerFields
        body = Body(number: number, reader: reader)
    }

    /// The body of a part.
    public struct Body: AsyncSequence, Sendable {
        /// Bytes of the body, as many as have come.
        public typealias Element = Data

        fileprivate let number: Int
        fileprivate let reader: MultipartReader

        /// Reads the body.
        public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

        /// The reader of a part's body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let body: Body

            /// The next bytes, `nil` at the end of the part.
            ///
            /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/other`` where the next part has been asked for already,
            ///   and as ``MultipartSequence/Iterator/next()``.
            public mutating func next() async throws -> Data? { try await body.reader.nextBytes(of: body.number) }

            /// As ``next()``. It runs where it is called, whatever the argument.
            public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Data? {
                try await next()
            }
        }

        /// The rest of the part in one piece.
        ///
        /// - Parameter limit: How many bytes are accepted.
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` above the limit, and what reading throws.
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
