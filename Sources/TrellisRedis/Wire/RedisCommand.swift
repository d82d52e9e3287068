#if Redis
import CurlEngine
import FoundationEssentials

/// A command, as it is sent (RESP2: an array of bulk strings).
struct RedisCommand: Hashable, Sendable {
    /// The bytes of the command.
    let encoded: Data

    /// Creates a command of its name and its arguments.
    init(_ name: String, _ arguments: [RedisArgument] = []) {
        var bytes = Data()
        let parts = [.text(name)] + arguments
        bytes.append(contentsOf: "*\(parts.count)\r\n".utf8)
        for part in parts {
            let data = part.data
            bytes.append(contentsOf: "$\(data.count)\r\n".utf8)
            bytes.append(data)
            bytes.append(contentsOf: "\r\n".utf8)
        }
        encoded = bytes
    }

    /// Creates the call of a script with its keys, which it alone may use, and its further arguments.
    init(_ script: RedisScript, keys: [String], _ arguments: [RedisArgument]) {
        self.init("EVAL", [.text(script.text), .number(Int64(keys.count))] + keys.map { .text($0) } + arguments)
    }
}

/// An argument of a command.
enum RedisArgument: Hashable, Sendable {
    case text(String)
    case number(Int64)
    case bytes(Data)

    fileprivate var data: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .number(let number): Data("\(number)".utf8)
        case .bytes(let bytes): bytes
        }
    }
}

/// A script in Lua, which the server runs as a whole.
struct RedisScript: Hashable, Sendable {
    /// The text of the script.
    let text: String
}
#endif
