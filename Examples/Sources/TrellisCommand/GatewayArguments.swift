import ArgumentParser
import Trellis

/// The argument of `--listen`: `HOST:PORT`, with IPv6 addresses in brackets.
struct ListenAddress: ExpressibleByArgument {
    /// The host as written.
    let text: String
    /// The host or address, without brackets.
    let host: String
    let port: Int

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else { return nil }
        let host = argument[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard !host.isEmpty, isBracketed || !host.contains(":") else { return nil }
        text = String(host)
        self.host = isBracketed ? String(host.dropFirst().dropLast()) : text
        self.port = Int(port)
    }
}

/// The argument of `--origin`: an `http` or `https` URL with a host, and without user, path, query and fragment.
struct OriginArgument: ExpressibleByArgument {
    /// The URL without a slash at its end.
    let text: String

    init?(argument: String) {
        let text = argument.hasSuffix("/") ? String(argument.dropLast()) : argument
        guard let (scheme, rest) = text[...].cut(at: ":"), ["http", "https"].contains(scheme.lowercased()),
            rest.hasPrefix("//"), !rest.dropFirst(2).utf8.contains(where: "/?#@\\ ".utf8.contains),
            URL(string: text)?.host?.isEmpty == false
        else { return nil }
        self.text = text
    }
}

/// The argument of `--targeted`: names of fields with commas between them.
struct FieldNameList: ExpressibleByArgument {
    let names: [HTTPField.Name]

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false).map { HTTPField.Name(String($0)) }
        guard names.allSatisfy({ $0 != nil }) else { return nil }
        self.names = names.compactMap(\.self)
    }
}
