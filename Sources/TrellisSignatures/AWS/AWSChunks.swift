import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// A body in chunks with a signature each (Amazon S3, "Transferring payload in multiple chunks").
struct AWSChunks: Sendable {
    let source: RequestBody
    /// The number of bytes of the source.
    let length: Int64
    /// The number of bytes of each chunk but the last.
    let size: Int
    let checksum: AWSChecksum?

    /// The word that stands for the hash of the body.
    var payload: String { "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + (checksum == nil ? "" : "-TRAILER") }

    /// Sets the fields that describe the body.
    func describe(_ fields: inout HTTPFields) {
        let coding = fields["Content-Encoding"]
        fields["Content-Encoding"] = "aws-chunked" + (coding.map { ",\($0)" } ?? "")
        fields["X-Amz-Decoded-Content-Length"] = "\(length)"
        fields["X-Amz-Trailer"] = checksum?.field
    }

    /// The number of bytes of the body with its signatures.
    var encodedLength: Int64 {
        let (whole, rest) = length.quotientAndRemainder(dividingBy: Int64(size))
        var sum = whole * Self.length(of: Int64(size)) + (rest > 0 ? Self.length(of: rest) : 0) + Self.length(of: 0)
        if let checksum {
            sum += Int64("\(checksum.field):\r\n\(Self.trailerName):\r\n".utf8.count + checksum.length + 64)
        }
        return sum
    }

    private static let trailerName = "x-amz-trailer-signature"

    private static func length(of chunk: Int64) -> Int64 {
        Int64("\(String(chunk, radix: 16));chunk-signature=\r\n\r\n".utf8.count + 64) + chunk
    }

    /// Returns the body. Each sending begins with the signature of the request's head.
    func body(_ scope: AWSScope, after signature: String) -> RequestBody {
        source.rewritten(length: encodedLength) { [size, checksum] read, send in
            let writer = Locked(Writer(scope: scope, previous: signature, size: size, checksum: checksum))
            try await read { bytes in
                for chunk in try writer.withLock({ writer throws(TrellisError) in try writer.add(bytes) }) {
                    try await send(chunk)
                }
            }
            try await send(writer.withLock { writer throws(TrellisError) in try writer.finish() })
        }
    }

    /// The state of one sending.
    private struct Writer {
        let scope: AWSScope
        var previous: String
        let size: Int
        var pending = Data()
        let name: String?
        var checksum: RunningAWSChecksum?

        init(scope: AWSScope, previous: String, size: Int, checksum: AWSChecksum?) {
            (self.scope, self.previous, self.size, name) = (scope, previous, size, checksum?.field)
            self.checksum = checksum.map { RunningAWSChecksum($0) }
        }

        /// Returns the chunks that are complete.
        mutating func add(_ bytes: Data) throws(TrellisError) -> [Data] {
            checksum?.update(bytes)
            // A source may give few bytes at a time: they are copied once.
            pending.append(bytes)
            guard pending.count >= size else { return [] }
            var rest = pending
            var chunks: [Data] = []
            while rest.count >= size {
                chunks.append(try chunk(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            pending = Data(rest)
            return chunks
        }

        /// Returns the last chunk, the empty one after it, and the checksum.
        mutating func finish() throws(TrellisError) -> Data {
            var bytes = pending.isEmpty ? Data() : try chunk(pending)
            var end = try chunk(Data())
            guard let name else { return bytes + end }
            guard let value = checksum?.finish() else { throw .noSHA256 }
            let hash = try AWSScope.hash(Array("\(name):\(value)\n".utf8))
            let signature = try scope.signature(of: [
                "AWS4-HMAC-SHA256-TRAILER", scope.date, scope.text, previous, hash,
            ])
            // The fields stand between the two line breaks that end the last chunk.
            end.removeLast(2)
            bytes += end + Data("\(name):\(value)\r\n\(AWSChunks.trailerName):\(signature)\r\n\r\n".utf8)
            return bytes
        }

        private mutating func chunk(_ bytes: Data) throws(TrellisError) -> Data {
            let hashes = [try AWSScope.hash([UInt8]()), try AWSScope.hash(bytes)]
            previous = try scope.signature(
                of: ["AWS4-HMAC-SHA256-PAYLOAD", scope.date, scope.text, previous] + hashes)
            let line = "\(String(bytes.count, radix: 16));chunk-signature=\(previous)\r\n"
            return Data(line.utf8) + bytes + Data("\r\n".utf8)
        }
    }
}
