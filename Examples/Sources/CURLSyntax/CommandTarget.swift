/// What the arguments that are no options say: a method, if any, and URLs.
public struct CommandTarget: Sendable, Hashable {
    /// The method as written, if any.
    public let method: String?
    /// The URLs as written.
    public let urls: [String]

    /// Reads the arguments. The first of several is a method if it is a word: every host but `localhost` has a dot, a colon or a slash.
    public init(_ arguments: [String]) {
        let isMethod = arguments.count > 1 && Self.isWord(arguments[0])
        method = isMethod ? arguments[0] : nil
        urls = isMethod ? Array(arguments.dropFirst()) : arguments
    }

    /// Returns whether a text cannot be a URL among others.
    public static func isWord(_ text: String) -> Bool {
        text != "localhost" && !text.utf8.contains { ":/.".utf8.contains($0) }
    }

    /// Returns a URL with `http` if it has no scheme, and with `localhost` if it begins with a port: `:8080/path`.
    ///
    /// A text with user information is not completed, nor is a word that is a method.
    public static func completed(_ url: String) -> String {
        let authority = url.utf8.prefix { !"/?#".utf8.contains($0) }
        let afterAuthority = url.utf8.dropFirst(authority.count)
        if authority.last == UInt8(ascii: ":"), afterAuthority.starts(with: "//".utf8), authority.count > 1 {
            return url
        }
        guard !authority.isEmpty, !authority.contains(UInt8(ascii: "@")), !methods.contains(url) else { return url }
        return authority.first == UInt8(ascii: ":") ? "http://localhost\(url)" : "http://\(url)"
    }

    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]
}
