import CurlEngine

/// The domains under which anyone can have a name, such as `com`, `co.uk` and `github.io`. A cookie for all of one would
/// reach strangers: a supercookie.
struct PublicSuffixes: Sendable {
    private let answer: @Sendable (String) -> Bool?

    /// From a function of domains in lower case and ASCII; `nil` where it does not know.
    init(_ answer: @escaping @Sendable (String) -> Bool?) { self.answer = answer }

    /// The Public Suffix List of the libpsl that libcurl has loaded, which takes the last label of a domain that is not on
    /// the list for a suffix.
    static let system = PublicSuffixes(PublicSuffixList.contains)

    /// Without a list: only what has no dot is a suffix. It lets `co.uk` pass, because what a server may do everywhere else
    /// must not depend on how libcurl was built.
    static let withoutList = PublicSuffixes { _ in nil }

    func contains(_ domain: String) -> Bool { answer(domain) ?? !domain.utf8.contains(UInt8(ascii: ".")) }
}
