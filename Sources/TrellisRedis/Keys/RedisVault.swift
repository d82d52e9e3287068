#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCore

/// The keys of a storage. The first one encrypts, and each of them decrypts.
///
/// A message is a byte with the length of the key's name, the name, the nonce, the encrypted bytes and the tag. The tag is also for the
/// name and the place of the message, so that a message in another place is none.
struct RedisVault: Sendable {
    private let first: RedisKey
    private let keys: [RedisKey]

    /// Creates a vault; `nil` without a key.
    init?(_ keys: [RedisKey]) {
        guard let first = keys.first else { return nil }
        (self.first, self.keys) = (first, keys)
    }

    /// Encrypts a message.
    ///
    /// - Parameter place: The text that says where the message is kept.
    func seal(_ bytes: Data, for place: String) throws(RedisFailure) -> Data {
        let name = Array(first.name.utf8)
        guard let sealed = first.cipher.seal(bytes, context: Self.context(name, place)) else { throw .noKey }
        return Data([UInt8(name.count)] + name) + sealed
    }

    /// Decrypts a message.
    ///
    /// - Throws: ``RedisFailure/damaged`` if it was changed, or none of the keys has encrypted it.
    func open(_ message: Data, for place: String) throws(RedisFailure) -> Data {
        guard let count = message.first, message.count > Int(count) else { throw .damaged }
        let name = [UInt8](message.dropFirst().prefix(Int(count)))
        guard let key = keys.first(where: { $0.name.utf8.elementsEqual(name) }),
            let bytes = key.cipher.open(Data(message.dropFirst(1 + Int(count))), context: Self.context(name, place))
        else { throw .damaged }
        return bytes
    }

    /// Returns the names that stand for a digest, one for each key. The first one is this process's.
    func names(of digest: String) -> [String] {
        keys.compactMap { key in
            MessageAuthenticationCode.code(Array(digest.utf8), key: key.naming, .sha256).map {
                Hexadecimal.text($0.prefix(RedisCacheNames.digestLength / 2))
            }
        }
    }

    private static func context(_ name: [UInt8], _ place: String) -> [UInt8] {
        [UInt8(name.count)] + name + Array(place.utf8)
    }
}
#endif
