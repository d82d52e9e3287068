public import HTTPTypes

extension Session {
    /// Returns the pages of a list, each decoded, whose responses link to the next one (`Link` with `rel="next"`, RFC 8288).
    ///
    /// ```swift
    /// for try await users in session.pages(of: [User].self, from: "https://api.example.com/users") {
    ///     print(users.count)
    /// }
    /// ```
    ///
    /// A page is requested when the loop asks for it; leaving the loop requests no further one. Every page has the method, the fields, the
    /// limits and the steps of the first request, and its status and content type are checked.
    ///
    /// A link to another origin gets no credentials, as with a redirect. Fields such as `Authorization` and `Cookie`, default query items
    /// and the additions of adapters are left out, there and on later pages.
    ///
    /// For the head of each page, use ``Response/links`` and
    /// ``response(_:from:decoder:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,HTTPFields,_,_,_)``.
    ///
    /// - Parameters:
    ///   - type: The type of a page.
    ///   - request: The request of the first page.
    ///   - decoder: The decoder of the bodies; a `JSONDecoder` unless given.
    ///   - maximumPages: The limit on the pages, as a guard against a server that never ends; 1,000 unless given. A further page is an
    ///     error of kind ``TrellisError/Kind/other``. To read fewer, leave the loop.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the call for each page, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits, for each page; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The pages. Each loop over the sequence begins with the first page.
    public func pages<Value: Decodable & Sendable>(
        of type: Value.Type, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        maximumPages: Int = 1_000, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> PageSequence<Value> {
        PageSequence(
            session: self,
            first: Result {
                try request.asRequest().adjusted(
                    query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
            },
            maximumPages: maximumPages
        ) { [self] in try await response(type, from: $0, decoder: decoder) }
    }
}

/// The pages of a list: see
/// ``Session/pages(of:from:decoder:maximumPages:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,_,HTTPFields,_,_,_)``.
public struct PageSequence<Value: Sendable>: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = Value

    fileprivate let session: Session
    fileprivate let first: Result<Request, any Error>
    fileprivate let maximumPages: Int
    fileprivate let read: @Sendable (Request) async throws -> DataResponse<Value>

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
