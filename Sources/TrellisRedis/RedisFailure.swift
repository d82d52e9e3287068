#if Redis
/// The reasons why the server has not answered, or not as expected. A request goes on without the server.
public enum RedisFailure: Error, Hashable, Sendable {
    /// The text is not the address of a server.
    case malformedAddress(reason: String)
    /// The server was asked too recently without success, or there is no connection to it.
    case unavailable
    /// The server has not answered in the time that a request waits for it.
    case late
    /// The connection to the server could not be made, or was lost.
    case disconnected(reason: String)
    /// The server has refused a command, in its words: a wrong password, no memory left, a replica that takes no writes.
    case refused(String)
    /// The server has sent what is no reply, or too large.
    case malformed
    /// A stored value is damaged, incomplete, or encrypted with a key that is not known.
    case damaged
    /// The value is private, and there is no key to encrypt it with.
    case noKey
    /// The secret of a key has not 32 bytes, its name is too long, or there is no OpenSSL.
    case unusableKey
}

extension RedisFailure: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .malformedAddress(let reason): "the address of the Redis server is malformed: \(reason)"
        case .unavailable: "the Redis server is not asked at present, because it has failed just now"
        case .late: "the Redis server has not answered in time"
        case .disconnected(let reason): "the connection to the Redis server: \(reason)"
        case .refused(let reason): "the Redis server has refused: \(reason)"
        case .malformed: "the Redis server has sent what is no reply"
        case .damaged: "a value of the Redis server is damaged, or encrypted with another key"
        case .noKey: "the value is private, and there is no key to encrypt it with"
        case .unusableKey:
            "the key cannot be used: it has not 32 bytes, a name of more than 255, or there is no OpenSSL"
        }
    }
}
#endif
