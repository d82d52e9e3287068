#if Redis
import Foundation
import Testing

@testable import TrellisRedis

/// The encryption of what belongs to one user.
struct RedisVaultTests {
    private static func key(_ byte: UInt8, _ name: String) throws -> RedisKey {
        try RedisKey([UInt8](repeating: byte, count: 32), name: name)
    }

    private let message = Data("a message".utf8)

    @Test func aMessageIsReadAtItsPlaceAlone() throws {
        let vault = try #require(RedisVault([Self.key(1, "one")]))
        let sealed = try vault.seal(message, for: "a")
        #expect(try vault.open(sealed, for: "a") == message)
        #expect(throws: RedisFailure.damaged) { try vault.open(sealed, for: "b") }
        let again = try vault.seal(message, for: "a")
        #expect(again != sealed && sealed.firstRange(of: message) == nil)
    }

    @Test func aMessageThatWasChangedIsNone() throws {
        let vault = try #require(RedisVault([Self.key(1, "one")]))
        let sealed = try vault.seal(message, for: "a")
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: RedisFailure.damaged, "\(index)") { try vault.open(changed, for: "a") }
            #expect(throws: RedisFailure.damaged, "\(index)") { try vault.open(Data(sealed.prefix(index)), for: "a") }
        }
    }

    /// The steps in which a key is replaced: at each of them, processes of this step and of the one before read each other's messages, and
    /// invalidate each other's entries.
    @Test func aKeyIsReplacedInSteps() throws {
        let (old, new) = (try Self.key(1, "old"), try Self.key(2, "new"))
        let steps = try [[old], [old, new], [new, old], [new]].map { try #require(RedisVault($0)) }
        for (before, after) in zip(steps, steps.dropFirst()) {
            #expect(try after.open(before.seal(message, for: "a"), for: "a") == message)
            #expect(try before.open(after.seal(message, for: "a"), for: "a") == message)
            let (names, others) = (before.names(of: "k"), after.names(of: "k"))
            let (first, other) = (try #require(names.first), try #require(others.first))
            #expect(others.contains(first) && names.contains(other))
        }
        let (first, last) = (steps[0], steps[3])
        #expect(throws: RedisFailure.damaged) { try last.open(first.seal(message, for: "a"), for: "a") }
        #expect(Set(first.names(of: "k")).isDisjoint(with: last.names(of: "k")))
    }

    /// The name says which key it was, and belongs to the message.
    @Test func theNameOfTheKeyIsPartOfTheMessage() throws {
        let vault = try #require(RedisVault([Self.key(1, "one")]))
        let renamed = try #require(RedisVault([Self.key(1, "two")]))
        var sealed = try vault.seal(message, for: "a")
        sealed.replaceSubrange(1..<4, with: Data("two".utf8))
        #expect(throws: RedisFailure.damaged) { try renamed.open(sealed, for: "a") }
    }

    @Test func keysHaveTheRightSize() throws {
        for count in [0, 16, 31, 33] {
            #expect(throws: RedisFailure.unusableKey) { try RedisKey([UInt8](repeating: 1, count: count), name: "a") }
        }
        #expect(throws: RedisFailure.unusableKey) {
            try RedisKey([UInt8](repeating: 1, count: 32), name: String(repeating: "a", count: 256))
        }
        #expect(RedisVault([]) == nil)
        let key = try Self.key(7, "a")
        #expect("\(key)".contains("REDACTED"))
    }
}
#endif
