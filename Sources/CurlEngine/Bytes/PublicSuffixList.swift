import CCurl

/// The Public Suffix List (publicsuffix.org) of the libpsl that libcurl has loaded.
package enum PublicSuffixList {
    /// Whether the process has a list.
    package static var isAvailable: Bool { contains("com") != nil }

    /// Returns whether anyone can register a name under this domain; `nil` if there is no list.
    ///
    /// The first call reads the list from a disk, so it must not be made on the engine thread.
    ///
    /// - Parameter domain: The domain in lower case, with international names in ASCII form.
    package static func contains(_ domain: String) -> Bool? {
        let answer = unsafe ccurl_suffix_is_public(domain)
        return answer < 0 ? nil : answer != 0
    }
}
