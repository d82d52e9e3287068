import CurlEngine
import FoundationEssentials

/// The languages that the environment of the process asks for, as the value of an `Accept-Language` field.
public enum AcceptLanguage {
    /// The languages of this process's environment, read when they are first asked for; `nil` if there are none.
    public static let `default`: String? = value(environment: ProcessInfo.processInfo.environment)

    /// Returns the value of an `Accept-Language` field for the languages of an environment.
    ///
    /// The locale is the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty; with `C`, `POSIX` or none there are no
    /// languages. Otherwise the languages of `LANGUAGE`, a list separated by colons as in GNU gettext, precede the locale's.
    /// The first six become tags of BCP 47 (`sr_RS@latin` becomes `sr-Latn-RS`) with falling weights (RFC 9110, section 12.5.4):
    /// `de-AT, de;q=0.9, en;q=0.8`.
    ///
    /// - Returns: The value of the field; `nil` if there are no languages.
    public static func value(environment: [String: String]) -> String? {
        let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
        guard let locale = names.lazy.compactMap({ environment[$0] }).first(where: { !$0.isEmpty }),
            let main = tag(of: locale[...])
        else { return nil }
        var tags: [String] = []
        for tag in (environment["LANGUAGE"] ?? "").split(atByte: ":").compactMap(tag) + [main]
        where !tags.contains(tag) {
            tags.append(tag)
        }
        return tags.prefix(6).enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }.joined(separator: ", ")
    }

    /// Returns the tag of a locale's name, `language[_TERRITORY][.codeset][@modifier]`; `nil` if the name has no language.
    static func tag(of locale: Substring) -> String? {
        let modifier = locale.split(atByte: "@").dropFirst().first?.lowercasedASCII() ?? ""
        let name = locale.prefix(beforeBytes: ".@")
        let parts = name.replacing(byte: "_", with: "-").split(atByte: "-", omittingEmptySubsequences: false)
        guard let language = parts.first, (2...3).contains(language.count), isAlphanumeric(language, letters: true)
        else {
            return nil
        }
        var subtags = [language.lowercasedASCII()]
        if let script = scripts[modifier] { subtags.append(script) }
        for part in parts.dropFirst() where (2...8).contains(part.count) && isAlphanumeric(part, letters: false) {
            // Country codes are written in capitals, script codes with one capital.
            subtags.append(
                part.count == 4 ? part.capitalizedASCII : part.count < 4 ? part.uppercasedASCII : part.lowercasedASCII()
            )
        }
        if modifier == "valencia" { subtags.append(modifier) }
        return subtags.joined(separator: "-")
    }

    /// The modifiers of glibc's locales that name a script.
    private static let scripts = ["latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva"]

    private static func isAlphanumeric(_ text: Substring, letters: Bool) -> Bool {
        text.utf8.allSatisfy { (0x61...0x7a).contains($0 | 0x20) || !letters && (0x30...0x39).contains($0) }
    }
}

extension Substring {
    fileprivate var uppercasedASCII: String {
        String(decoding: utf8.map { 0x61...0x7A ~= $0 ? $0 & 0xDF : $0 }, as: UTF8.self)
    }

    fileprivate var capitalizedASCII: String { prefix(1).uppercasedASCII + dropFirst().lowercasedASCII() }
}
