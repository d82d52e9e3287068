import CurlEngine
package import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The layout of an entry's file, whose numbers are little-endian:
///
/// | bytes | content |
/// |---|---|
/// | 40 | prologue: mark, version, capacity of a head, number of the file, checksum |
/// | 2 × (24 + capacity) | two places for heads: the valid one with the higher revision counts, and an update writes the other one |
/// | length of the body | body |
/// | 8 for each 64 KiB of the body | checksums |
/// | 40 | trailer: length of the body, checksum of the checksums, number of the file, mark, checksum |
///
/// All checksums are XXH64 with a seed that is derived from the number of the file, which is random, so that the parts of two files
/// never fit together.
enum CacheFileFormat {
    static let version: UInt32 = 1
    static let prologueSize = 40
    static let trailerSize = 40
    static let placeHeaderSize = 24
    /// The number of bytes of the body that have one checksum.
    static let blockSize = 64 << 10
    /// The largest number of bytes of a head.
    static let maximumCapacity = 4 << 20
    private static let mark: UInt64 = 0x0A73_696C_6C65_7254
    private static let endMark: UInt64 = 0x0A64_6E65_6C6C_7254

    /// The beginning of a file.
    struct Prologue: Sendable {
        var number: UInt64
        /// The number of bytes for a head.
        var capacity: Int

        /// The offset of the body.
        var bodyStart: Int64 { Int64(prologueSize + 2 * (placeHeaderSize + capacity)) }

        /// Returns the offset of a head's place.
        func placeStart(_ place: Int) -> Int { prologueSize + place * (placeHeaderSize + capacity) }

        var encoded: Data {
            var data = Data()
            data.append(mark)
            data.append(UInt64(version) | UInt64(capacity) << 32)
            data.append(number)
            data.append(UInt64(0))
            data.append(Checksum64.of(data.bytes))
            return data
        }

        init(number: UInt64, capacity: Int) { (self.number, self.capacity) = (number, capacity) }

        /// Reads the prologue; `nil` if it is damaged, or of another version.
        init?(_ data: Data) {
            var cursor = ByteCursor(data.prefix(prologueSize))
            guard cursor.word() == mark, let sizes = cursor.word(), let number = cursor.word(), cursor.word() != nil,
                cursor.word() == Checksum64.of(data.bytes.extracting(0..<32)),
                UInt32(truncatingIfNeeded: sizes) == version, sizes >> 32 <= maximumCapacity
            else { return nil }
            (self.number, capacity) = (number, Int(sizes >> 32))
        }
    }

    /// The end of a file.
    struct Trailer: Sendable {
        var bodyLength: Int64
        var number: UInt64
        var checksumOfTable: UInt64

        var encoded: Data {
            var data = Data()
            for word in [UInt64(bodyLength), checksumOfTable, number, endMark] { data.append(word) }
            data.append(Checksum64.of(data.bytes))
            return data
        }

        init(bodyLength: Int64, number: UInt64, table: Data) {
            (self.bodyLength, self.number) = (bodyLength, number)
            checksumOfTable = Checksum64.of(table.bytes, seed: number)
        }

        /// Reads the trailer; `nil` if it is damaged.
        init?(_ data: Data) {
            var cursor = ByteCursor(data)
            guard let length = cursor.word(), let table = cursor.word(), let number = cursor.word(),
                cursor.word() == endMark, cursor.word() == Checksum64.of(data.bytes.extracting(0..<32)),
                let length = Int64(exactly: length)
            else { return nil }
            (bodyLength, checksumOfTable, self.number) = (length, table, number)
        }
    }

    /// Returns the number of checksums of a body.
    static func blockCount(_ length: Int64) -> Int64 { (length + Int64(blockSize) - 1) / Int64(blockSize) }

    /// Returns the checksums of the blocks of a body's part.
    ///
    /// - Parameter first: The index of the first block.
    static func table(of body: Data, first: Int64, number: UInt64) -> Data {
        var table = Data()
        let bytes = body.bytes
        var start = 0
        var index = first
        while start < bytes.byteCount {
            let end = min(start + blockSize, bytes.byteCount)
            table.append(Checksum64.of(bytes.extracting(start..<end), seed: number &+ UInt64(index)))
            (start, index) = (end, index + 1)
        }
        return table
    }

    /// The checksums of the blocks of a body that arrives in parts of any size.
    struct RunningTable: Sendable {
        private let number: UInt64
        /// The checksums of the complete blocks.
        private var complete = Data()
        private var blockCount: UInt64 = 0
        /// The checksum of the block that is not complete, and the number of its bytes.
        private var checksum: RunningChecksum64
        private var fill = 0

        init(number: UInt64) {
            self.number = number
            checksum = RunningChecksum64(seed: number)
        }

        /// Adds bytes to the body.
        mutating func add(_ bytes: RawSpan) {
            var start = 0
            while start < bytes.byteCount {
                let end = min(start + blockSize - fill, bytes.byteCount)
                checksum.add(bytes.extracting(start..<end))
                (fill, start) = (fill + end - start, end)
                guard fill == blockSize else { continue }
                complete.append(checksum.value)
                blockCount += 1
                fill = 0
                checksum = RunningChecksum64(seed: number &+ blockCount)
            }
        }

        /// The checksums of all blocks up to now. The last block may not be complete.
        var table: Data {
            guard fill > 0 else { return complete }
            var table = complete
            table.append(checksum.value)
            return table
        }
    }

    /// Returns a place with a head in it.
    static func place(_ head: Data, revision: UInt64, number: UInt64) -> Data {
        var data = Data()
        data.append(revision)
        data.append(UInt64(head.count))
        data.append(Checksum64.of(head.bytes, seed: number &+ revision))
        data += head
        return data
    }

    /// Reads a head from its place; `nil` if there is none, or it is damaged.
    static func head(in place: Data, number: UInt64) -> (head: Data, revision: UInt64)? {
        var cursor = ByteCursor(place)
        guard let revision = cursor.word(), revision > 0, let length = cursor.word(), let checksum = cursor.word(),
            let length = Int(exactly: length), let head = cursor.bytes(length),
            Checksum64.of(head.bytes, seed: number &+ revision) == checksum
        else { return nil }
        return (head, revision)
    }
}

/// The head of an entry, with the names of the entry, as a file or a server keeps it.
package struct CacheFileHead: Sendable {
    /// The key of the entry.
    package var key: CacheKey
    /// The head of the response.
    package var head: CachedHead
    /// The variant of the head.
    package var variant: String

    /// Creates the head of an entry.
    package init(_ key: CacheKey, _ head: CachedHead) { (self.key, self.head, variant) = (key, head, head.variant) }

    /// The bytes of the head.
    package var encoded: Data {
        var data = Data()
        for text in [key.url, key.partition, variant] { data.appendCounted(text.utf8) }
        data.append(UInt64(head.stored.status))
        for time in [head.stored.requestTime, head.stored.responseTime] {
            data.append(UInt64(bitPattern: time.milliseconds))
        }
        for fields in [head.headers, head.requestHeaders] {
            data.append(UInt64(fields.count))
            for field in fields {
                data.appendCounted(field.name.rawName.utf8)
                data.appendCounted(field.octetsBeyondUTF8 ?? Array(field.value.utf8))
            }
        }
        return data
    }

    /// Reads a head; `nil` if it is not one.
    package init?(_ data: Data) {
        var cursor = ByteCursor(data)
        guard let url = cursor.text(), let partition = cursor.text(), let variant = cursor.text(),
            let status = cursor.word().flatMap({ Int(exactly: $0) }), 100...999 ~= status,
            let requestTime = cursor.word(), let responseTime = cursor.word(), let headers = cursor.fields(),
            let requestHeaders = cursor.fields(), cursor.isAtEnd
        else { return nil }
        let stored = StoredHead(
            status: status, headers: headers, requestTime: CacheTime(milliseconds: Int64(bitPattern: requestTime)),
            responseTime: CacheTime(milliseconds: Int64(bitPattern: responseTime)))
        key = CacheKey(url: url, partition: partition)
        head = CachedHead(stored, request: requestHeaders)
        self.variant = variant
    }
}

extension Data {
    fileprivate mutating func append(_ word: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
    }

    fileprivate mutating func appendCounted(_ bytes: some Collection<UInt8>) {
        append(UInt64(bytes.count))
        append(contentsOf: bytes)
    }
}

/// A reader of the parts of an entry's file, which never reads beyond their end.
package struct ByteCursor {
    private let bytes: [UInt8]
    private var start = 0

    /// Creates a reader at the beginning of some bytes.
    package init(_ data: Data) { bytes = [UInt8](data) }

    /// Whether all bytes were read.
    package var isAtEnd: Bool { start == bytes.count }

    private mutating func range(_ count: Int) -> Range<Int>? {
        guard count >= 0, count <= bytes.count - start else { return nil }
        defer { start += count }
        return start..<start + count
    }

    /// Reads some bytes; `nil` if there are not as many.
    package mutating func bytes(_ count: Int) -> Data? { range(count).map { Data(bytes[$0]) } }

    /// Reads a number of 8 bytes, the lowest first; `nil` if there are not as many.
    package mutating func word() -> UInt64? {
        guard let range = range(8) else { return nil }
        var word: UInt64 = 0
        for index in range.reversed() { word = word << 8 | UInt64(bytes[index]) }
        return word
    }

    private mutating func counted() -> Range<Int>? { word().flatMap { Int(exactly: $0) }.flatMap { range($0) } }

    fileprivate mutating func text() -> String? { counted().flatMap { text($0) } }

    private func text(_ range: Range<Int>) -> String? {
        do { return String(copying: try UTF8Span(validating: bytes.span.extracting(range))) } catch { return nil }
    }

    fileprivate mutating func fields() -> HTTPFields? {
        guard let count = word(), count <= UInt64(bytes.count - start) else { return nil }
        var fields: [HTTPField] = []
        for _ in 0..<count {
            guard let name = text().flatMap({ HTTPField.Name($0) }), let value = counted() else { return nil }
            // HTTPTypes takes white space off the ends of a text, and replaces invalid characters.
            if let text = text(value), case let field = HTTPField(name: name, value: text), field.value == text {
                fields.append(field)
            } else {
                fields.append(HTTPField(name: name, lenientValue: Array(bytes[value])))
            }
        }
        return HTTPFields(all: fields)
    }
}
