#if Redis
import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisRedis

/// What the server keeps of an entry.
struct RedisCacheRecordTests {
    private static let names = CacheFileHead(
        CacheKey(url: "http://localhost/a", partition: "p"),
        CachedHead(
            status: .ok, headers: [.cacheControl: "max-age=60", .vary: "accept"], requestHeaders: [.accept: "x"],
            requestDate: Date(timeIntervalSince1970: 1), responseDate: Date(timeIntervalSince1970: 2)))

    @Test func aRecordWithItsBodyIsReadAgain() throws {
        let record = RedisCacheRecord(Self.names, length: 5, inline: Data("hello".utf8))
        let read = try #require(RedisCacheRecord(record.encoded))
        #expect(read.inline == Data("hello".utf8) && read.length == 5 && read.pieces.isEmpty)
        #expect(read.names.key == Self.names.key && read.names.head == Self.names.head)
        #expect(read.names.variant == Self.names.variant)
    }

    @Test(arguments: [65_536, 65_537, 200_000] as [Int64]) func aRecordOfPiecesIsReadAgain(_ length: Int64) throws {
        let count = RedisCacheRecord.pieceCount(of: length)
        let record = RedisCacheRecord(Self.names, length: length, inline: nil, pieces: (0..<count).map { UInt64($0) })
        let read = try #require(RedisCacheRecord(record.encoded))
        #expect(read.pieces == record.pieces && read.inline == nil && read.length == length)
        #expect((0..<count).reduce(0) { $0 + Int64(read.size(ofPiece: $1)) } == length)
    }

    /// A record with other bytes, or fewer or more of them, is none.
    @Test func aDamagedRecordIsNone() throws {
        let data = RedisCacheRecord(Self.names, length: 5, inline: Data("hello".utf8)).encoded
        for index in data.indices {
            var damaged = data
            damaged[index] ^= 0x10
            #expect(RedisCacheRecord(damaged) == nil, "\(index)")
            #expect(RedisCacheRecord(Data(data.prefix(index))) == nil, "\(index)")
        }
        #expect(RedisCacheRecord(data + [0]) == nil)
    }

    /// The number of pieces must be right for the length, although the checksum is.
    @Test(arguments: [0, 1, 3]) func aRecordWithAnotherNumberOfPiecesIsNone(_ count: Int) {
        let record = RedisCacheRecord(
            Self.names, length: 100_000, inline: nil, pieces: [UInt64](repeating: 1, count: count))
        #expect(RedisCacheRecord(record.encoded) == nil)
    }

    @Test func aBodyOfAnotherLengthIsNone() {
        #expect(RedisCacheRecord(RedisCacheRecord(Self.names, length: 6, inline: Data("hello".utf8)).encoded) == nil)
        #expect(RedisCacheRecord(RedisCacheRecord(Self.names, length: 4, inline: Data("hello".utf8)).encoded) == nil)
        #expect(RedisCacheRecord(RedisCacheRecord(Self.names, length: .max, inline: nil).encoded) == nil)
    }

    // MARK: Names

    @Test func theNamesOfUsersAndRunsAreApart() {
        let shared = RedisCacheNames(prefix: "a", isShared: true, run: "1")
        let mine = RedisCacheNames(prefix: "a", isShared: false, run: "1")
        let later = RedisCacheNames(prefix: "a", isShared: true, run: "2")
        #expect(Set([shared.heads("k"), mine.heads("k"), later.heads("k"), shared.bodies("k")]).count == 4)
        #expect(shared.heads("k") == "a:cache:shared:1:h:k")
    }

    /// The prefix is the user's, and may have characters with a meaning in a pattern.
    @Test func aPatternFindsTheNamesOfItsPrefixAlone() {
        let names = RedisCacheNames(prefix: "a*[b]?", isShared: true, run: "")
        #expect(names.patterns[0] == #"a\*\[b\]\?:cache:shared::h:*"#)
    }

    @Test func keysWithOtherPartitionsHaveOtherNames() throws {
        let digests = [("ab", ""), ("a", "b"), ("", "ab")].map {
            RedisCacheNames.digest(of: CacheKey(url: $0.0, partition: $0.1))
        }
        #expect(Set(digests).count == 3 && digests.allSatisfy { $0?.utf8.count == RedisCacheNames.digestLength })
    }
}
#endif
