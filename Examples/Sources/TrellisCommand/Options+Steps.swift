import Trellis

extension Options {
    /// What surrounds the request: retries, redirects, credentials, cookies.
    ///
    /// - Throws: ``RequestFailure`` or `TrellisError` for credentials of a URL that is none.
    func makeSteps() throws -> Steps {
        var steps = Steps()
        if retries > 0 { steps.intercept(with: RetryPolicy(retryLimit: retries)) }
        var policy = RedirectPolicy()
        if let redirects { policy.maximumRedirects = redirects }
        steps.redirects = policy
        if noRedirects { steps.redirectHandler = .doNotFollow }
        if let cookieJar { steps.cookies = CookieFile(path: cookieJar) }
        if let user { try authenticate(user, &steps) }
        return steps
    }

    private func authenticate(_ user: String, _ steps: inout Steps) throws {
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (name, password) = (parts[0], parts.count > 1 ? parts[1] : "")
        switch auth ?? .basic {
        case .basic:
            steps.adapters.append(try BasicAuthentication(username: name, password: password, origin: url))
        case .bearer: steps.adapters.append(try BearerAuthentication(token: user, origin: url))
        case .digest:
            steps.attempts.append(try DigestAuthentication(username: name, password: password, origin: url))
        }
    }
}

extension Steps {
    /// Writes the cookies that could not be written yet.
    func keepCookies() async throws {
        do {
            guard let file = cookies as? CookieFile else { return }
            try await file.flush()
        } catch let failure as CookieFile.Failure {
            throw RequestFailure("file", failure.description)
        }
    }
}
