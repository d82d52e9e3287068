#if Gateway
import ArgumentParser
import Trellis

/// The argument of `--listen`: `HOST:PORT`, with IPv6 addresses in brackets.
struct ListenAddress: Sendable {
    /// The host as written.
    let text: String
    /// The host or address, without brackets.
    let host: String
    let port: Int

    init(_ argument: String) throws {
        guard let colon = argument.lastIndex(of: ":"), colon > argument.startIndex else {
            throw ValidationError("it does not have the form HOST:PORT")
        }
        guard let port = UInt16(argument[argument.index(after: colon)...]) else {
            throw ValidationError("its port is not a number from 0 to 65535")
        }
        let host = argument[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard isBracketed || !host.contains(":") else {
            throw ValidationError("an IPv6 address is put in brackets, as in [::1]:8080")
        }
        text = String(host)
        self.host = isBracketed ? String(host.dropFirst().dropLast()) : text
        self.port = Int(port)
    }
}

/// The argument of `--origin`: an `http` or `https` URL with a host, and without user, path, query and fragment.
struct OriginArgument: Sendable {
    /// The URL without a slash at its end.
    let text: String

    init(_ argument: String) throws {
        let text = argument.hasSuffix("/") ? String(argument.dropLast()) : argument
        guard let (scheme, rest) = text[...].cut(at: ":"), ["http", "https"].contains(scheme.lowercasedASCII()),
            rest.hasPrefix("//"), !rest.dropFirst(2).utf8.contains(where: "/?#@\\ ".utf8.contains),
            URL(string: text)?.host?.isEmpty == false
        else {
            throw ValidationError("it is not http:// or https:// with a host, and perhaps a port, alone")
        }
        self.text = text
    }
}

/// The argument of `--targeted`: names of fields with commas between them.
struct FieldNameList: Sendable {
    let names: [HTTPField.Name]

    init(_ argument: String) throws {
        names = try argument.split(separator: ",", omittingEmptySubsequences: false).map { text in
            guard let name = HTTPField.Name(String(text)) else {
                throw ValidationError("'\(text)' cannot be the name of a field")
            }
            return name
        }
    }
}
#endif
