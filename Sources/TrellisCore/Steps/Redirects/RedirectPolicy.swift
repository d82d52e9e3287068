import CurlEngine
public import HTTPTypes

/// The rules for following redirects and for the fields that are sent along (RFC 9110, section 15.4; Fetch standard, "HTTP-redirect
/// fetch").
///
/// - Responses with a status of 301, 302, 303, 307 or 308 and a `Location` are redirects.
/// - 303 turns every method but `HEAD` into `GET`; 301 and 302 turn `POST` into `GET`. The body goes, with every field that describes it.
///   Otherwise the request is repeated; if its body cannot be, the error is ``TrellisError/Kind/bodyNotReplayable``.
/// - `Location` may be relative. Other schemes, malformed values and several values are refused (``TrellisError/Kind/redirectRefused``).
/// - Another origin gets no credentials and no secret fields: <doc:Redirects>.
/// - A redirect from `https` to `http` is refused unless ``allowsDowngrade`` is set.
/// - More than ``maximumRedirects``, or a sixth visit of one URL, is an error (``TrellisError/Kind/tooManyRedirects``).
/// - `Retry-After` in a redirect is ignored (RFC 9110, section 10.2.3).
public struct RedirectPolicy: Sendable, Hashable {
    /// The number of redirects that are followed in a row, 20 by default. With 0 a redirect is an error.
    public var maximumRedirects = 20
    /// Whether a redirect may lead from `https` to `http`, so that every party on the way can read and change the
    /// request and the response. `false` by default.
    public var allowsDowngrade = false
    /// The names of fields that are not sent to another origin than the one they were written for, in addition to the fields that
    /// are known to be secret. None by default.
    public var secretFieldNames: Set<HTTPField.Name> = []

    /// Creates a policy with the defaults for the values that are not given.
    public init(
        maximumRedirects: Int = 20, allowsDowngrade: Bool = false, secretFieldNames: Set<HTTPField.Name> = []
    ) {
        self.maximumRedirects = maximumRedirects
        self.allowsDowngrade = allowsDowngrade
        self.secretFieldNames = secretFieldNames
    }
}

extension RedirectPolicy {
    /// The decision about a response.
    enum Decision: Sendable {
        /// The response is final.
        case answer
        /// The request is sent next, because of the redirect.
        case follow(Request, Redirect)
        /// The call fails with the error.
        case refuse(TrellisError)
    }

    /// The number of times that a chain may reach the same URL.
    static let maximumVisits = 5

    /// Returns the decision about a response.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent; its URL is absolute.
    ///   - redirects: The redirects that led to the request.
    ///   - hsts: The hosts that are to be reached over https alone; `nil` if none are known.
    ///   - switchesProtocols: Whether the request asks the server to switch protocols, so that a `Location` may have the scheme
    ///     `ws` or `wss`.
    func decision(
        for response: Response, to request: Request, redirects: [Redirect], hsts: (any SecureHosts)? = nil,
        switchesProtocols: Bool = false
    ) -> Decision {
        let locations = response.head.redirectTargets
        guard let location = locations.first else { return .answer }
        do throws(TrellisError) {
            guard redirects.count < maximumRedirects else {
                throw TrellisError(.redirectFailed(.tooMany(limit: maximumRedirects)))
            }
            guard locations.allSatisfy({ $0.hasSameBytes(as: location) }) else {
                throw TrellisError(.redirectFailed(.refused("it has several different targets")))
            }
            let target = try RedirectTarget(
                switchesProtocols ? location.withHTTPScheme : location, of: request.url, sentTo: response.url,
                hsts: hsts)
            guard !target.isDowngrade || allowsDowngrade else {
                throw TrellisError(.redirectFailed(.refused("it leads from https to http")))
            }
            var redirect = Redirect(
                status: response.status, from: target.from, to: target.to, fragment: target.fragment)
            redirect.isUpgraded = target.isUpgraded
            guard Self.visits(of: redirect, after: redirects) < Self.maximumVisits else {
                throw TrellisError(.redirectFailed(.loop(url: URLRedaction.redact(redirect.to))))
            }
            return .follow(try next(after: request, response.status.code, target), redirect)
        } catch {
            return .refuse(error.adding(response, to: request))
        }
    }

    /// Returns the number of times that the chain has reached the target before.
    private static func visits(of redirect: Redirect, after redirects: [Redirect]) -> Int {
        redirects.count { $0.from == redirect.to } + (redirect.from == redirect.to ? 1 : 0)
    }

    // MARK: The next request

    private func next(
        after request: Request, _ status: Int, _ target: RedirectTarget
    ) throws(TrellisError) -> Request {
        var next = request
        next.url = target.url
        if next.sendsURLUnchanged { next.sendsURLUnchanged = false }
        if Self.makesGET(status, request.method) {
            next.method = .get
            next.removeBody()
        } else if let body = request.body, !body.isReplayable {
            throw TrellisError(.bodyFailed(.notReplayable))
        }
        if target.changesOrigin { removeFieldsBoundToOrigin(from: &next) }
        return next
    }

    /// Returns whether a request after a redirect with a status is a GET without a body (RFC 9110, section 15.4).
    static func makesGET(_ status: Int, _ method: HTTPRequest.Method) -> Bool {
        switch status {
        case 303: method != .head
        case 301, 302: method == .post
        default: false
        }
    }

    /// Removes the fields that must not be sent to another origin, before and after the body.
    func removeFieldsBoundToOrigin(from request: inout Request) {
        request.headers.remove(where: isBoundToOrigin)
        removeTrailersBoundToOrigin(from: &request)
    }

    func removeTrailersBoundToOrigin(from request: inout Request) {
        guard let trailers = request.trailers else { return }
        request.trailers = { [self] in
            var fields = try await trailers()
            fields.remove(where: isBoundToOrigin)
            return fields
        }
    }

    /// Returns whether a field must not be sent to another origin. Applies to a session's default fields as well.
    func isBoundToOrigin(_ field: HTTPField) -> Bool {
        RedirectFields.isBoundToOrigin(field) || secretFieldNames.contains(field.name)
    }
}

extension Request {
    /// Removes the body and every field that describes it.
    mutating func removeBody() {
        body = nil
        headers.remove { RedirectFields.describesBody($0) }
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
            reason, method: request.method, url: response.url, phase: .received, metrics: response.metrics)
        error.response = response
        return error
    }
}

extension RedirectPolicy {
    /// Returns the hop that follows a response, and the redirect that leads there; `nil` if the response is final.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent; its URL is absolute.
    ///   - asked: The same request before adapters changed it; `nil` if there were none.
    ///   - handler: The handler that is asked about each redirect that the policy would follow.
    ///   - context: The context with the redirects that led to the request.
    ///   - hsts: The hosts that are to be reached over https alone; `nil` if none are known.
    /// - Throws: ``TrellisError`` if the policy refuses the redirect; the error of the handler.
    func next(
        after response: Response, to request: Request, asked: Request? = nil, handler: (any RedirectHandler)?,
        context: CallContext, hsts: (any SecureHosts)? = nil
    ) async throws -> (hop: RedirectedHop, redirect: Redirect)? {
        if let handler, !handler.followsRedirects { return nil }
        let switchesProtocols = context.call.delivery == .connection
        switch decision(
            for: response, to: request, redirects: context.redirects, hsts: hsts, switchesProtocols: switchesProtocols)
        {
        case .answer: return nil
        case .refuse(let error): throw error
        case .follow(let next, let redirect):
            let makesGET = Self.makesGET(response.status.code, request.method)
            guard let handler else { return (hop(to: next, redirect, asked: asked, makesGET: makesGET), redirect) }
            guard var changed = try await handler.redirect(to: next, for: response, context: context) else {
                return nil
            }
            if switchesProtocols { changed.url = changed.url.withHTTPScheme }
            // If the handler made a request of its own, adapters get that request when it is retried.
            let asked = changed.isSame(as: next) ? asked : nil
            if changed.url.hasSameBytes(as: next.url) {
                return (hop(to: changed, redirect, asked: asked, makesGET: makesGET), redirect)
            }
            // A URL that cannot be requested fails when it is requested.
            let target = try? RedirectTarget(changed.url, of: next.url, sentTo: redirect.to, hsts: hsts)
            if let target, target.isUpgraded { changed.url = target.url }
            if target?.changesOrigin ?? true { removeFieldsBoundToOrigin(of: next, from: &changed) }
            var moved = Redirect(
                status: redirect.status, from: redirect.from, to: target?.to ?? changed.url,
                fragment: URLReference(changed.url).fragment)
            moved.isUpgraded = target?.isUpgraded ?? false
            return (hop(to: changed, moved, asked: asked, makesGET: makesGET), moved)
        }
    }

    /// Removes the fields that are bound to an origin from a request that a handler has sent to another origin, unless the
    /// handler has written them: the fields that the request would have been sent with were merely left in place, and so were its trailers.
    private func removeFieldsBoundToOrigin(of next: Request, from changed: inout Request) {
        let left = Set(next.headers.filter(isBoundToOrigin))
        if !left.isEmpty { changed.headers.remove { left.contains($0) } }
        if changed.trailerSource === next.trailerSource { removeTrailersBoundToOrigin(from: &changed) }
    }

    /// Returns the hop that a redirect leads to: the request to send, and the same request without the changes of adapters.
    private func hop(to next: Request, _ redirect: Redirect, asked: Request?, makesGET: Bool) -> RedirectedHop {
        guard var asked, !asked.isSame(as: next) else { return RedirectedHop(asked: next, adapted: next) }
        asked.url = next.url
        // A method that differs otherwise was set by an adapter, which sets it again.
        if makesGET {
            asked.method = .get
            asked.removeBody()
        }
        if redirect.changesOrigin { removeFieldsBoundToOrigin(from: &asked) }
        return RedirectedHop(asked: asked, adapted: next)
    }
}
