import Trellis

/// `--curl`: the options as curl has them.
extension Options {
    /// The request as it is sent: a file is not asked for coded.
    func cURLRequest() throws -> Request {
        var request = try makeRequest()
        guard case .file = place, !request.headerFields.contains(.acceptEncoding), request.decodesContent != true else {
            return request
        }
        request.headerFields[.acceptEncoding] = "identity"
        request.decodesContent = false
        return request
    }

    /// What is said beside the request and the session.
    func cURLDetails() -> CURLDescriptionOptions {
        var details = CURLDescriptionOptions(revealingSecrets: showSecrets)
        var arguments = cURLCredentials
        if !noRedirects {
            arguments += ["--location", "--max-redirs", "\(redirects ?? RedirectPolicy().maximumRedirects)"]
        }
        if let retries, retries > 0 { arguments += ["--retry", "\(retries)"] }
        if validatesAnswer { arguments.append("--fail") }
        if let cookieJar, !cookieJar.utf8.contains(UInt8(ascii: "=")) {
            let path = cookieJar == "-" ? "./-" : cookieJar
            arguments += ["--cookie", path, "--cookie-jar", path]
        }
        switch place {
        case .standardOutput: break
        case .special(let path): arguments += ["--output", path]
        case .file:
            arguments +=
                outputFolder.map { ["--output-dir", $0, "--create-dirs", "--remote-name", "--remote-header-name"] }
                ?? ["--output", output ?? ""]
        }
        details.furtherArguments = arguments
        if !cURLGaps.isEmpty {
            details.furtherRemarks.append("curl has nothing like \(cURLGaps.joined(separator: ", "))")
        }
        return details
    }

    /// The options with which curl shows who asks.
    private var cURLCredentials: [String] {
        guard let user else { return [] }
        if auth == .bearer { return ["--oauth2-bearer", showSecrets ? user : "REDACTED"] }
        let credentials = showSecrets ? user : "\(user[...].before(":")):REDACTED"
        return (auth == .digest ? ["--digest"] : []) + ["--user", credentials]
    }

    /// The options that curl has nothing like.
    private var cURLGaps: [String] {
        // It takes an equals sign for the beginning of a cookie's value.
        let hasOddJar = cookieJar?.utf8.contains(UInt8(ascii: "=")) ?? false
        return [
            ("--stream", stream != nil), ("--limit", limit != nil), ("--resume", resume),
            ("--connections", connections > 1), ("--checksum", checksum != nil), ("--cancel-after", cancelAfter != nil),
            ("--report", report != nil), ("--cookie-jar with an equals sign", hasOddJar),
        ].filter(\.1).map(\.0)
    }
}
