import CurlEngine

/// The domains under which anyone can have a name, such as `com`, `co.uk` and `github.io`. A cookie for all names under such a
/// domain would reach strangers: a supercookie.
struct PublicSuffixes: Sendable {
    /// Returns whether a domain is a public suffix; `nil` if that is unknown.
    private let answer: @Sendable (String) -> Bool?

    /// Creates a set from a function of domains in lower case and ASCII, which returns `nil` if it does not know a domain.
    init(_ answer: @escaping @Sendable (String) -> Bool?) { self.answer = answer }

    /// The Public Suffix List of the libpsl that libcurl has loaded. For a domain that is not on the list, libpsl takes the last
    /// label for a suffix.
    static let system = PublicSuffixes(PublicSuffixList.contains)

    /// The set without a list: a domain without a dot is a suffix, and no other. `co.uk` passes, because the rights of a server
    /// must not depend on how libcurl was built.
    static let withoutList = PublicSuffixes { _ in nil }

    func contains(_ domain: String) -> Bool { answer(domain) ?? !domain.utf8.contains(UInt8(ascii: ".")) }
}
