import Trellis
import TrellisOAuth

extension Options {
    /// Returns the steps that surround the request: retries, redirects, credentials, cookies.
    ///
    /// - Throws: ``RequestFailure`` or `TrellisError` for credentials of a URL that is malformed.
    func makeSteps() async throws -> Steps {
        var steps = Steps()
        if let retries = limits.retries, retries > 0 {
            var policy = RetryPolicy(retryLimit: retries)
            if let delay = limits.retryDelay {
                policy.exponentialBackoffBase = 1
                policy.exponentialBackoffScale = .seconds(delay)
            }
            if limits.retryAllErrors {
                let refusesErrors = places.fail || places.failWithBody || places.validatesAnswer
                steps.adapters.append(policy)
                steps.retriers.append(EveryFailure(policy: policy, refusesErrors: refusesErrors))
            } else {
                steps.intercept(with: policy)
            }
        }
        var policy = RedirectPolicy()
        if let redirects = limits.redirects { policy.maximumRedirects = redirects }
        steps.redirects = policy
        if limits.noRedirects { steps.redirectHandler = .doNotFollow }
        steps.cookies = try await cookieStorage()
        steps.signers = try await signers()
        if signing.awsSigv4 == nil, let user = credentials.user {
            var origins: Set<String> = []
            for url in urls where origins.insert(Self.origin(url)).inserted { try authenticate(user, at: url, &steps) }
        }
        if let oauth = try oauthAuthenticator() { steps.intercept(with: oauth.interceptor()) }
        // The first credentials of an origin are sent. Those of a file would hide the server's challenge from the other schemes.
        if credentials.netrc || credentials.netrcFile != nil,
            credentials.user == nil || [nil, .basic, .bearer].contains(credentials.auth)
        {
            do { steps.adapters.append(try await Netrc.load(from: credentials.netrcFile)) } catch let error
                as AuthenticationError
            {
                throw RequestFailure("file", "\(error)")
            }
        }
        return steps
    }

    /// Returns the storage of `--cookie-jar`, with the cookies of `--cookie-file`, which may be no file (''); `nil` without both.
    private func cookieStorage() async throws -> (any CookieStorage)? {
        // Nothing is kept in /dev/null, and nothing is read from there.
        let jar = try credentials.cookieJar.map { path -> any CookieStorage in
            guard path != "/dev/null" else { return CookieJar() }
            guard let path = path == "-" ? ShownJar.path : path else {
                throw RequestFailure("file", "--cookie-jar -: no folder for temporary files can be made (TMPDIR)")
            }
            return CookieFile(path: path)
        }
        guard let file = credentials.cookieFile, file != credentials.cookieJar else { return jar }
        guard !file.isEmpty, file != "/dev/null" else { return jar ?? CookieJar() }
        let read = CookieFile(path: file)
        let cookies = await read.all
        if let failure = await read.failure { throw RequestFailure("file", failure.description) }
        if let jar {
            await jar.insert(cookies)
            return jar
        }
        let memory = CookieJar()
        await memory.insert(cookies)
        return memory
    }

    /// Returns the origin of a URL, which several URLs may share.
    private static func origin(_ url: String) -> String {
        guard let parts = URL(string: url) else { return url }
        return "\(parts.scheme ?? "")://\(parts.host ?? ""):\(parts.port ?? 0)".lowercasedASCII()
    }

    private func authenticate(_ user: String, at url: String, _ steps: inout Steps) throws {
        let parts = user[...].cut(at: ":")
        let (name, password) = (String(parts?.before ?? user[...]), String(parts?.after ?? ""))
        switch credentials.auth ?? .basic {
        case .basic:
            steps.adapters.append(try BasicAuthentication(username: name, password: password, origin: url))
        case .bearer: steps.adapters.append(try BearerAuthentication(token: user, origin: url))
        case .digest:
            steps.network.append(try DigestAuthentication(username: name, password: password, origin: url))
        case .any:
            steps.network.append(try PasswordAuthentication(username: name, password: password, origin: url))
        }
    }
}

/// The retries of `--retry-all-errors`: after any failure, whatever the method.
private struct EveryFailure: RequestRetrier {
    let policy: RetryPolicy
    /// Whether a status of 400 or more is a failure.
    let refusesErrors: Bool

    func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        var policy = policy
        policy.retryableHTTPMethods.insert(attempt.request.method)
        if let status = attempt.response?.status.code {
            guard refusesErrors, status >= 400 else { return await policy.retry(attempt, context: context) }
            policy.retryableHTTPStatusCodes.insert(status)
            return await policy.retry(attempt, context: context)
        }
        // The policy gives up after failures that another attempt is not likely to change.
        let decision = await policy.retry(attempt, context: context)
        guard case .doNotRetry = decision, context.attempt <= policy.retryLimit else { return decision }
        let span = min(policy.exponentialBackoffScale * (1 << min(context.attempt - 1, 10)), policy.maximumBackoff)
        return .retryWithDelay(span * Double.random(in: 0..<1))
    }
}

extension Steps {
    /// Writes the cookies that could not be written yet. Returns the failure, if there is one.
    func keepCookies() async -> RequestFailure? {
        do throws(FileFailure) {
            try await (cookies as? CookieFile)?.flush()
            return nil
        } catch {
            return RequestFailure("file", "the cookie file \(error.path) cannot be used: \(error.reason)")
        }
    }
}
