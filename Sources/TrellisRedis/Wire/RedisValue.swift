#if Redis
import FoundationEssentials

/// A reply of the server.
enum RedisValue: Hashable, Sendable {
    /// The answer to a command without a value, such as `OK`.
    case status(String)
    /// The reason why a command was not executed, such as `OOM command not allowed …`.
    case error(String)
    case integer(Int64)
    case bytes(Data)
    /// There is no value.
    case nothing
    case array([RedisValue])

    /// The bytes of a value; `nil` for another reply.
    var data: Data? { if case .bytes(let data) = self { data } else { nil } }

    /// The number; `nil` for a reply that is none. A number in a text, as a value has it, is one.
    var number: Int64? {
        switch self {
        case .integer(let number): number
        case .bytes(let data): Int64(String(decoding: data, as: UTF8.self))
        case .status, .error, .nothing, .array: nil
        }
    }

    /// The elements; `nil` for a reply that is no array.
    var elements: [RedisValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// Returns the reply.
    ///
    /// - Throws: ``RedisFailure/refused(_:)`` if it is an error.
    func checked() throws(RedisFailure) -> RedisValue {
        guard case .error(let reason) = self else { return self }
        throw .refused(reason)
    }
}

extension RedisValue {
    /// Decodes the first value of a reply's tokens (`CHiredis.h`), and removes them; `nil` if they are malformed.
    init?(tokens: inout ArraySlice<UInt8>) {
        guard let kind = tokens.first, tokens.count >= 9 else { return nil }
        var word: UInt64 = 0
        for byte in tokens.dropFirst().prefix(8).reversed() { word = word << 8 | UInt64(byte) }
        tokens = tokens.dropFirst(9)
        switch kind {
        case UInt8(ascii: ":"): self = .integer(Int64(bitPattern: word))
        case UInt8(ascii: "_"): self = .nothing
        case UInt8(ascii: "*"):
            var elements: [RedisValue] = []
            for _ in 0..<word {
                guard let element = RedisValue(tokens: &tokens) else { return nil }
                elements.append(element)
            }
            self = .array(elements)
        case UInt8(ascii: "$"), UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard let count = Int(exactly: word), count <= tokens.count else { return nil }
            let bytes = tokens.prefix(count)
            tokens = tokens.dropFirst(count)
            self =
                switch kind {
                case UInt8(ascii: "+"): .status(String(decoding: bytes, as: UTF8.self))
                case UInt8(ascii: "-"): .error(String(decoding: bytes, as: UTF8.self))
                default: .bytes(Data(bytes))
                }
        default: return nil
        }
    }
}
#endif
