import CurlEngine
import TrellisCore

/// The parsed value of a `Strict-Transport-Security` field (RFC 6797, section 6.1).
struct StrictTransportSecurity: Hashable, Sendable {
    /// The time for which the host is to be reached over https alone, in seconds; 0 ends an earlier request for that.
    let maxAge: Int64
    /// Whether the subdomains of the host are included.
    let includesSubdomains: Bool

    init(maxAge: Int64, includesSubdomains: Bool) {
        self.maxAge = maxAge
        self.includesSubdomains = includesSubdomains
    }

    /// Creates the value by parsing a field; `nil` if the field does not conform to the grammar, so that it must be ignored: it has no
    /// `max-age`, or a directive twice. Directives that are not known are ignored.
    init?(_ text: String) {
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else { return nil }
        var scanner = FieldScanner(text)
        var names: Set<String> = []
        var maxAge: Int64?
        var includesSubdomains = false
        while true {
            scanner.skipSpace()
            if let name = scanner.token()?.lowercasedASCII() {
                guard names.insert(name).inserted, let value = Self.value(&scanner) else { return nil }
                switch (name, value) {
                case ("max-age", let value?):
                    guard let seconds = DeltaSeconds.parse(value) else { return nil }
                    maxAge = seconds
                case ("includesubdomains", nil): includesSubdomains = true
                case ("max-age", nil), ("includesubdomains", _?): return nil
                default: break
                }
            }
            scanner.skipSpace()
            if scanner.isAtEnd { break }
            guard scanner.take(";") else { return nil }
        }
        guard let maxAge else { return nil }
        self.init(maxAge: maxAge, includesSubdomains: includesSubdomains)
    }

    /// Takes the value of a directive, if the directive has one. Returns `nil` if the value is malformed.
    private static func value(_ scanner: inout FieldScanner) -> String?? {
        scanner.skipSpace()
        guard scanner.take("=") else { return .some(nil) }
        scanner.skipSpace()
        return scanner.tokenOrQuoted().map { .some($0) }
    }
}
