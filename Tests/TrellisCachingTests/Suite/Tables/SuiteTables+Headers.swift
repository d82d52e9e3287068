@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    /// A field of responses, with two values.
    struct Header: Sendable {
        /// The fate of a value in a 304 (RFC 9111, section 3.2).
        enum Update: Sendable {
            case required
            case informative
            case forbidden
        }

        let name: String
        let old: String
        let new: String
        let update: Update

        /// Creates a field with the values of the suite, or with values of its own.
        init(_ name: String, _ update: Update, _ old: String? = nil, _ new: String? = nil) {
            (self.name, self.update) = (name, update)
            self.old = old ?? "old-\(name.lowercased())"
            self.new = new ?? "new-\(name.lowercased())"
        }
    }

    /// The fields that are stored.
    static let storedHeaders: [Header] = [
        Header("Test-Header", .required), Header("X-Test-Header", .required), Header("Content-Foo", .required),
        Header("X-Content-Foo", .required), Header("Cache-Control", .required, "max-age=1", "max-age=3600"),
        Header("Content-Encoding", .informative), Header("Content-Length", .forbidden, "36", "10"),
        Header("Content-Location", .informative, "/foo", "/bar"),
        Header("Content-MD5", .informative, "rL0Y20zC+Fzt72VPzMSk2A==", "N7UdGUp1E+RbVvZSTy1R8g=="),
        Header("Content-Range", .informative),
        Header(
            "Content-Security-Policy", .informative, "default-src 'self'", "default-src 'self' cdn.example.com"),
        Header("Content-Type", .informative, "text/plain", "text/plain;charset=utf-8"),
        Header("Clear-Site-Data", .informative, "cache", "cookies"),
        Header("ETag", .informative, #""abcdef""#, #""ghijkl""#),
        Header("Expires", .informative, "Fri, 01 Jan 2038 01:01:01 GMT", "Mon, 11 Jan 2038 11:11:11 GMT"),
        Header("Public-Key-Pins", .informative), Header("Set-Cookie", .informative, "a=b", "a=c"),
        Header("Set-Cookie2", .informative, "a=b", "a=c"),
        Header("X-Frame-Options", .informative, "deny", "sameorigin"),
        Header("X-XSS-Protection", .informative, "1", "1; mode=block"),
    ]

    /// The fields that concern the connection, and are not stored.
    static let connectionHeaders = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    ]

    // MARK: Storing

    static let headers: [SuiteCase] = [namedInConnection] + storedHeaders.map(stored) + connectionHeaders.map(dropped)

    private static let namedInConnection: SuiteCase = .required(
        "headers-omit-headers-listed-in-Connection", .fresh(["Connection: a, b", "a: 1", "b: 2", "c: 3"]),
        .get().expecting(.cached, with: ["c: 3"], without: ["a", "b"]))

    private static func stored(_ header: Header) -> SuiteCase {
        let line = "\(header.name): \(header.new)"
        let lifetime = header.name == "Cache-Control" ? [] : ["Cache-Control: max-age=3600"]
        // The body has the length that the field says.
        let text = header.name == "Content-Length" ? String(SuiteStep.defaultText.prefix(10)) : SuiteStep.defaultText
        return .required(
            "headers-store-\(header.name)",
            .get().answering(["Date: {0}", line] + lifetime, text: text).pausing(),
            .get().answering([], text: text).expecting(.cached, with: [line]))
    }

    private static func dropped(_ name: String) -> SuiteCase {
        .required(
            "headers-store-\(name)",
            .get().answering(["Date: {0}", "\(name): new-value", "Cache-Control: max-age=3600"]).pausing(),
            .get().expecting(.cached, without: [name]))
    }

    // MARK: Updating

    static let updateNotModified: [SuiteCase] = [notUpdated] + storedHeaders.map(updated)

    private static let notUpdated: SuiteCase = .required(
        "304-lm-use-stored-Test-Header",
        .get().answering(["Cache-Control: max-age=2", modified, "Date: {0}", "Test-Header: A"]).pausing(),
        .get().answering([modified, "Date: {0}"]).expecting(.lastModifiedValidated, with: ["Test-Header: A"]))

    private static let modified = "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT"

    private static func updated(_ header: Header) -> SuiteCase {
        let (old, new) = ("\(header.name): \(header.old)", "\(header.name): \(header.new)")
        let isKept = header.update == .forbidden
        let lifetime = header.name == "Cache-Control" ? [] : ["Cache-Control: max-age=2"]
        let tag = header.name == "ETag" ? [] : [#"ETag: "generated""#]
        let expected = [isKept ? old : new]
        return SuiteCase(
            id: "304-etag-update-response-\(header.name)", kind: header.update == .informative ? .check : .required,
            steps: [
                .get().answering(["Date: {0}", old] + lifetime + tag).pausing(),
                .get().answering(["Date: {0}", new] + lifetime + tag).expecting(.etagValidated, with: expected),
                .get().expecting(.cached, with: expected),
            ])
    }
}
