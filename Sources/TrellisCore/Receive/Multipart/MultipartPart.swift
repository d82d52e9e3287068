import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// A part of a multipart response. The body of the part is received as it is read.
public struct MultipartPart: Sendable {
    /// The fields of the part's head, in the order of their arrival.
    public let headers: HTTPFields
    /// The body of the part, to be read once, before the next part is requested.
    public let body: Body

    init(number: Int, _ headers: HTTPFields, _ reader: MultipartReader) {
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
                guard all.count + bytes.count <= limit else {
                    throw reader.completed(.tooLong("a part", limit: limit))
                }
                all.append(bytes)
            }
            return all
        }
    }
}

extension HTTPFields {
    /// Creates the fields of a part's head, one per line; a line that begins with white space continues the line before it
    /// (RFC 5322, section 2.2.3).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization`` for a line that is not a field, and for more fields
    ///   than ``WireFields/maximumCount``.
    init(partHead bytes: ArraySlice<UInt8>) throws(TrellisError) {
        self.init()
        var unfolded: [[UInt8]] = []
        for line in bytes.split(separator: 0x0A) {
            let line = line.last == 0x0D ? line.dropLast() : line
            if let first = line.first, first == 0x20 || first == 0x09, !unfolded.isEmpty {
                unfolded[unfolded.count - 1] += [0x20] + line.drop { $0 == 0x20 || $0 == 0x09 }
            } else {
                unfolded.append(Array(line))
            }
        }
        guard unfolded.count <= WireFields.maximumCount else {
            throw .malformedStream("the head of a part has more than \(WireFields.maximumCount) header fields")
        }
        for line in unfolded {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else {
                let text = String(decoding: line.prefix(80), as: UTF8.self)
                throw .malformedStream("the head of a part has a line that is not a header field: \(text)")
            }
            let value = line[(colon + 1)...]
            if let text = String(validating: value, as: UTF8.self) {
                append(HTTPField(name: name, value: text))
            } else {
                append(HTTPField(name: name, value: value))
            }
        }
    }
}
