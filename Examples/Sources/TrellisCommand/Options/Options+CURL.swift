import Trellis

/// The arguments of curl for `--curl`.
extension Options {
    /// Returns the request as it is sent: the body of a download is not requested in a content coding.
    func cURLRequest() throws -> Request {
        var request = try makeRequest()
        guard case .file = place, !request.headers.contains(.acceptEncoding), request.decodesContent != true else {
            return request
        }
        request.headers[.acceptEncoding] = "identity"
        request.decodesContent = false
        return request
    }

    /// Returns the arguments of curl that result neither from the request nor from the session.
    func cURLDetails() -> CURLDescriptionOptions {
        var details = CURLDescriptionOptions(revealingSecrets: tools.showSecrets)
        var arguments = cURLCredentials
        if !limits.noRedirects {
            arguments += ["--location", "--max-redirs", "\(limits.redirects ?? RedirectPolicy().maximumRedirects)"]
        }
        if let schemes = tls.proto?.schemes { arguments += ["--proto", "=\(schemes.sorted().joined(separator: ","))"] }
        if let retries = limits.retries, retries > 0 { arguments += ["--retry", "\(retries)"] }
        if limits.retryAllErrors { arguments.append("--retry-all-errors") }
        if places.remoteTime { arguments.append("--remote-time") }
        if places.failEarly { arguments.append("--fail-early") }
        if places.validatesAnswer { arguments.append("--fail") }
        if include { arguments.append("--include") }
        if let cookieJar = credentials.cookieJar, !cookieJar.utf8.contains(UInt8(ascii: "=")) {
            arguments += (cookieJar == "-" ? [] : ["--cookie", cookieJar]) + ["--cookie-jar", cookieJar]
        }
        switch place {
        case .standardOutput: break
        case .special(let path): arguments += ["--output", path]
        case .file:
            arguments +=
                outputFolder.map { ["--output-dir", $0, "--create-dirs", "--remote-name", "--remote-header-name"] }
                ?? ["--output", places.output ?? ""]
        }
        details.furtherArguments = arguments
        if !cURLGaps.isEmpty {
            details.furtherRemarks.append("curl has nothing like \(cURLGaps.joined(separator: ", "))")
        }
        return details
    }

    /// The arguments of curl for credentials.
    private var cURLCredentials: [String] {
        guard let user = credentials.user else { return [] }
        if credentials.auth == .bearer { return ["--oauth2-bearer", tools.showSecrets ? user : "REDACTED"] }
        let text = tools.showSecrets ? user : "\(user[...].before(":")):REDACTED"
        if let aws = signing.awsSigv4 { return ["--aws-sigv4", aws.text, "--user", text] }
        let scheme: [AuthenticationOption: [String]] = [.digest: ["--digest"], .any: ["--anyauth"]]
        return (credentials.auth.flatMap { scheme[$0] } ?? []) + ["--user", text]
    }

    /// The options for which curl has no equivalent.
    private var cURLGaps: [String] {
        // curl interprets a `--cookie` argument with an equals sign as cookies, not as the name of a file.
        let hasOddJar = credentials.cookieJar?.utf8.contains(UInt8(ascii: "=")) ?? false
        return [
            ("--stream", streaming.stream != nil), ("--limit", streaming.limit != nil), ("--resume", places.resume),
            ("--connections", places.connections > 1), ("--checksum", places.checksum != nil),
            ("--cancel-after", limits.cancelAfter != nil), ("--sign", signing.sign != nil),
            ("--report", places.report != nil), ("--cookie-jar with an equals sign", hasOddJar),
        ].filter(\.1).map(\.0)
    }
}
