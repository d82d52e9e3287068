import HTTPTypes

/// The pages of a list: see
/// ``Session/pages(of:from:decoder:maximumPages:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,_,HTTPFields,_,_,_)``.
public struct PageSequence<Value: Sendable>: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = Value

    let session: Session
    let first: Result<Request, any Error>
    let maximumPages: Int
    let read: @Sendable (Request) async throws -> DataResponse<Value>

    /// Returns an iterator that begins with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    /// The iterator over the pages.
    ///
    /// A status or a content type that is not accepted and a body that cannot be decoded are errors, as in
    /// ``DataRequest/serialize(with:)``. A link that leads to a page that was read before, from `https` to `http`, or to no URL of `http`
    /// or `https` is an error of kind ``TrellisError/Kind/malformedResponse``. After an error there are no more pages.
    public struct Iterator: AsyncIteratorProtocol {
        private let pages: PageSequence
        private var last: (request: Request, response: Response)?
        /// The URLs of the pages so far.
        private var visited: Set<String> = []
        private var count = 0
        private var hasEnded = false

        fileprivate init(pages: PageSequence) { self.pages = pages }

        /// Requests the next page.
        ///
        /// - Returns: The page; `nil` after the last one.
        /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
        public mutating func next() async throws -> Value? {
            guard !hasEnded else { return nil }
            hasEnded = true
            guard let request = try nextRequest() else { return nil }
            let page = try await pages.read(request)
            last = (request, page.response)
            count += 1
            hasEnded = false
            return page.value
        }

        /// Returns the next page, as ``next()`` does. Runs on the actor of the caller, regardless of the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Value? {
            try await next()
        }

        private mutating func nextRequest() throws -> Request? {
            guard let (request, response) = last else { return try pages.first.get() }
            guard let link = response.links["next"] else { return nil }
            func failure(_ reason: TrellisError.Reason) -> TrellisError {
                response.error(reason, nil, to: request.method, phase: .received)
            }
            guard count < pages.maximumPages else {
                throw failure(.other("there are more than \(pages.maximumPages) pages"))
            }
            let configuration = pages.session.configuration
            let policy = request.steps?.redirects ?? configuration.redirects ?? RedirectPolicy()
            let base = request.base(ofLinksIn: response)
            guard
                let target = try? RedirectTarget(
                    link.url, of: base, sentTo: response.url, hsts: configuration.secureHosts)
            else { throw failure(.invalidResponse(.malformed("its link to the next page is no URL of http or https"))) }
            guard !target.isDowngrade || policy.allowsDowngrade else {
                throw failure(.invalidResponse(.malformed("its link to the next page leads from https to http")))
            }
            visited.insert(target.from)
            guard !visited.contains(target.to) else {
                let url = URLRedaction.redact(target.to)
                throw failure(.invalidResponse(.malformed("its link to the next page leads to \(url) again")))
            }
            return request.following(target, after: response, policy)
        }
    }
}

extension Request {
    /// Returns the URL to which the links of a response are relative. After a redirect, it is the redirect's target, with the user
    /// information of the request if all redirects were within its origin.
    fileprivate func base(ofLinksIn response: Response) -> String {
        if response.redirects.isEmpty { return url }
        if response.redirects.contains(where: \.changesOrigin) { return response.url }
        return (try? RedirectTarget(response.url, of: url, sentTo: response.url))?.url ?? response.url
    }

    /// Returns the request of a page that a response to this one links to.
    fileprivate func following(_ target: RedirectTarget, after response: Response, _ policy: RedirectPolicy) -> Request
    {
        var next = self
        next.url = target.url
        if next.sendsURLUnchanged { next.sendsURLUnchanged = false }
        if target.changesOrigin || response.redirects.contains(where: \.changesOrigin) {
            policy.removeFieldsBoundToOrigin(from: &next)
            next.changeExtras { $0.hasLeftOrigin = true }
        }
        return next
    }
}
