import CurlEngine

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
