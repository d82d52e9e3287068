import CCurl

/// The Public Suffix List (publicsuffix.org) of the libpsl that libcurl has loaded.
package enum PublicSuffixList {
    /// Indicates whether the process has a list.
    package static var isAvailable: Bool { contains("com") != nil }

    /// Returns whether anyone can register a name under this domain; `nil` without a list.
    ///
    /// The first call reads the list from disk: make that call off the engine thread.
    ///
    /// - Parameter domain: The domain in lower case, international names as ASCII.
    package static func contains(_ domain: String) -> Bool? {
        let answer = unsafe ccurl_suffix_is_public(domain)
        return answer < 0 ? nil : answer != 0
    }
}
