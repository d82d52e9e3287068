import HTTPTypes

/// The steps of one request.
extension Request {
    /// What surrounds this request besides its session's steps; `nil` for nothing.
    public var steps: Steps? {
        get { attachedSteps?.given }
        set { attachment = newValue.map { AttachedSteps($0) } }
    }

    /// The request with an adapter and retrier more.
    public func withInterceptor(_ interceptor: any RequestInterceptor) -> Request {
        withSteps { $0.intercept(with: interceptor) }
    }

    /// The request with an adapter more.
    public func withAdapter(_ adapter: any RequestAdapter) -> Request { withSteps { $0.adapters.append(adapter) } }

    /// The request with a retrier more.
    public func withRetrier(_ retrier: any RequestRetrier) -> Request { withSteps { $0.retriers.append(retrier) } }

    /// The request with somebody who is asked about its redirects: `.doNotFollow` makes them answers.
    public func withRedirectHandler(_ handler: some RedirectHandler) -> Request {
        withSteps { $0.redirectHandler = handler }
    }

    /// The request with its steps changed.
    public func withSteps(_ change: (inout Steps) -> Void) -> Request {
        var request = self
        var steps = request.steps ?? Steps()
        change(&steps)
        request.steps = steps
        return request
    }
}

extension Request {
    /// The request with cookies behind those of its own.
    func adding(_ cookies: [Cookie]) -> Request {
        guard !cookies.isEmpty, let value = Cookie.field(cookies, after: headers[.cookie]) else { return self }
        return withHeader(HTTPField(name: .cookie, value: value))
    }
}

extension Request {
    /// Its steps as they run.
    var attachedSteps: AttachedSteps? { attachment as? AttachedSteps }
}

/// Steps in one place, because they are large and handed on often.
final class AttachedSteps: RequestAttachment {
    /// As they run: with interceptors installed whole.
    let steps: Steps
    /// As they were given.
    let given: Steps
    /// A step may make another answer of one that its caller would refuse, and then needs the whole body of that.
    let mayChangeAnswers: Bool

    /// Code that is not the framework's runs in the calls: they need tasks that can be cancelled at the deadline.
    let haveUserCode: Bool

    init(_ given: Steps) {
        self.given = given
        steps = given.withWholeInterceptors
        mayChangeAnswers = steps.mayChangeAnswers
        haveUserCode = !steps.isEmpty || steps.redirectHandler != nil
    }

    /// The steps of a session, and behind them those of a request.
    init(_ session: AttachedSteps, followedBy request: AttachedSteps) {
        steps = session.steps.followed(by: request.steps)
        given = steps
        mayChangeAnswers = session.mayChangeAnswers || request.mayChangeAnswers
        haveUserCode = session.haveUserCode || request.haveUserCode
    }
}
