import CurlEngine
public import HTTPTypes

/// Where redirects lead, and what goes along, as RFC 9110, section 15.4 and the Fetch standard's HTTP-redirect fetch have it.
///
/// - Statuses 301, 302, 303, 307 and 308 with a `Location` are redirects. Others of 3xx, and those without one, are answers.
/// - 303 makes a `GET` of every method but `HEAD`; 301 and 302 make one of a `POST`. The body goes, and with it every field that
///   speaks of it. Otherwise the request is repeated as it was, and it is an error (``TrellisError/Kind/bodyNotReplayable``) if
///   its body cannot be.
/// - `Location` may be relative. It is read by the same parser as every URL: what is no `http` or `https` URL of a host is
///   refused (``TrellisError/Kind/redirectRefused``), and so are several that differ. One without a fragment inherits that of
///   the request.
/// - On a change of origin (scheme, host or port) the fields that are meant for the old one stay behind: `Authorization`,
///   `Cookie`, `Proxy-Authorization`, `Host`, `Origin`, `Referer`, everything whose name says that it is a secret, and what is
///   marked as one: by name in ``secretFieldNames``, or by an indexing strategy of `.disallow` (RFC 7541, section 7.1.3). User
///   information in a URL is not carried over either, and one in a `Location` counts for the same origin alone.
/// - From `https` to `http` is refused unless ``allowsDowngrade`` says otherwise.
/// - More than ``maximumRedirects`` in a row are an error (``TrellisError/Kind/tooManyRedirects``). So is a chain that comes
///   to the same URL for the sixth time: a few times may make sense, where each sets a cookie or the server waits for something.
public struct RedirectPolicy: Sendable, Hashable {
    /// How many redirects are followed in a row, 20 unless set. With 0 a redirect is an error.
    public var maximumRedirects = 20
    /// Whether a redirect may lead from `https` to `http`, where everybody on the way can read and change what is sent. Off
    /// unless set.
    public var allowsDowngrade = false
    /// Fields that are not sent to another origin than the one they were written for, beside those that say so themselves.
    public var secretFieldNames: Set<HTTPField.Name> = []

    /// The defaults.
    public init(
        maximumRedirects: Int = 20, allowsDowngrade: Bool = false, secretFieldNames: Set<HTTPField.Name> = []
    ) {
        self.maximumRedirects = maximumRedirects
        self.allowsDowngrade = allowsDowngrade
        self.secretFieldNames = secretFieldNames
    }
}

extension RedirectPolicy {
    /// What a response means for the request that it answers.
    enum Decision: Sendable {
        /// It is the answer.
        case answer
        /// This is sent next.
        case follow(Request, Redirect)
        /// This is the caller's failure.
        case refuse(TrellisError)
    }

    /// How often a chain may come to a URL.
    static let maximumVisits = 5

    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - request: As it was sent; its URL is absolute.
    ///   - redirects: The redirects that led to it.
    func decision(for response: Response, to request: Request, redirects: [Redirect]) -> Decision {
        guard response.status.isRedirect else { return .answer }
        // An empty one says nothing; browsers, too, take that for none.
        let locations = response.headerFields[values: .location].filter { !$0.isEmpty }
        guard let location = locations.first else { return .answer }
        do throws(TrellisError) {
            guard redirects.count < maximumRedirects else {
                throw TrellisError(.redirectFailed(.tooMany(limit: maximumRedirects)))
            }
            guard locations.allSatisfy({ $0.hasSameBytes(as: location) }) else {
                throw TrellisError(.redirectFailed(.refused("it has several different targets")))
            }
            let target = try RedirectTarget(location, of: request.url, sentTo: response.url)
            guard !target.isDowngrade || allowsDowngrade else {
                throw TrellisError(.redirectFailed(.refused("it leads from https to http")))
            }
            let redirect = Redirect(
                status: response.status, from: target.from, to: target.to, fragment: target.fragment)
            guard Self.visits(of: redirect, after: redirects) < Self.maximumVisits else {
                throw TrellisError(.redirectFailed(.loop(url: URLRedaction.redact(redirect.to))))
            }
            return .follow(try next(after: request, response.status.code, target), redirect)
        } catch {
            return .refuse(error.adding(response, to: request))
        }
    }

    /// How often the chain has come to the target before.
    private static func visits(of redirect: Redirect, after redirects: [Redirect]) -> Int {
        redirects.count { $0.from == redirect.to } + (redirect.from == redirect.to ? 1 : 0)
    }

    // MARK: The next request

    private func next(
        after request: Request, _ status: Int, _ target: RedirectTarget
    ) throws(TrellisError) -> Request {
        var next = request
        next.url = target.url
        if Self.makesGET(status, request.method) {
            next.method = .get
            next.removeBody()
        } else if let body = request.body, !body.isReplayable {
            throw TrellisError(.bodyFailed(.notReplayable))
        }
        if target.changesOrigin { next.headerFields.remove(where: isBoundToOrigin) }
        return next
    }

    private static func makesGET(_ status: Int, _ method: HTTPRequest.Method) -> Bool {
        switch status {
        case 303: method != .head
        case 301, 302: method == .post
        default: false
        }
    }

    /// A field is not to be sent to another origin. Holds for a session's default fields as well.
    func isBoundToOrigin(_ field: HTTPField) -> Bool {
        RedirectFields.isBoundToOrigin(field) || secretFieldNames.contains(field.name)
    }
}

extension Request {
    /// Removes the body and every field that speaks of it.
    mutating func removeBody() {
        body = nil
        headerFields.remove { RedirectFields.speaksOfBody($0) }
    }
}

extension HTTPFields {
    /// Removes the fields that meet a condition.
    mutating func remove(where isRemoved: (HTTPField) -> Bool) {
        // Most requests have no such field.
        guard contains(where: isRemoved) else { return }
        self = HTTPFields(filter { !isRemoved($0) })
    }
}

extension TrellisError {
    fileprivate func adding(_ response: Response, to request: Request) -> TrellisError {
        var error = TrellisError(
            reason, method: request.method, url: response.url, phase: .answered, metrics: response.metrics)
        error.response = response
        return error
    }
}
