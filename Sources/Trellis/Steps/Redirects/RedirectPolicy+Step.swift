import CurlEngine

extension RedirectPolicy {
    /// What is sent behind a response, and the redirect that leads there; `nil` if the response is the answer.
    ///
    /// - Parameters:
    ///   - request: As it was sent; its URL is absolute.
    ///   - handler: Asked about what the policy would follow.
    ///   - context: With the redirects that led to the request.
    /// - Throws: ``TrellisError`` where the policy refuses, and what the handler throws.
    func next(
        after response: Response, to request: Request, handler: (any RedirectHandler)?, context: CallContext
    ) async throws -> (request: Request, redirect: Redirect)? {
        if let handler, !handler.followsRedirects { return nil }
        switch decision(for: response, to: request, redirects: context.redirects) {
        case .answer: return nil
        case .refuse(let error): throw error
        case .follow(let next, let redirect):
            guard let handler else { return (next, redirect) }
            guard let changed = try await handler.redirect(to: next, for: response, context: context) else {
                return nil
            }
            if changed.url.hasSameBytes(as: next.url) { return (changed, redirect) }
            // A URL that cannot be requested fails when it is.
            let target = try? RedirectTarget(changed.url, of: next.url, sentTo: redirect.to)
            let to = target?.to ?? changed.url
            let fragment = URLReference(changed.url).fragment
            return (changed, Redirect(status: redirect.status, from: redirect.from, to: to, fragment: fragment))
        }
    }
}
