import CurlEngine
import HTTPTypes

/// The steps of one request.
extension Request {
    /// The steps of this request, in addition to its session's; `nil` if the request has none.
    public var steps: Steps? {
        get { attachedSteps?.own }
        set {
            let monitors = eventMonitors
            attachment = newValue == nil && monitors.isEmpty ? nil : AttachedSteps(newValue, monitors)
        }
    }

    /// Returns the request with one more interceptor, an adapter and retrier in one.
    public func withInterceptor(_ interceptor: any RequestInterceptor) -> Request {
        withSteps { $0.intercept(with: interceptor) }
    }

    /// Returns the request with one more adapter.
    public func withAdapter(_ adapter: any RequestAdapter) -> Request { withSteps { $0.adapters.append(adapter) } }

    /// Returns the request with one more retrier.
    public func withRetrier(_ retrier: any RequestRetrier) -> Request { withSteps { $0.retriers.append(retrier) } }

    /// Returns the request with a handler that is asked about each redirect: `.doNotFollow` makes the redirect the response.
    public func withRedirectHandler(_ handler: some RedirectHandler) -> Request {
        withSteps { $0.redirectHandler = handler }
    }

    /// Returns the request with its steps changed by a closure.
    public func withSteps(_ change: (inout Steps) -> Void) -> Request {
        var request = self
        var steps = request.steps ?? Steps()
        change(&steps)
        request.steps = steps
        return request
    }
}

extension Request {
    /// Returns the request with cookies after its own.
    func adding(_ cookies: [Cookie]) -> Request {
        guard !cookies.isEmpty, let value = Cookie.field(cookies, after: headers[.cookie]) else { return self }
        return withHeader(HTTPField(name: .cookie, value: value))
    }
}

extension Request {
    /// The request's steps, prepared to run; `nil` if the request has none.
    var attachedSteps: AttachedSteps? { attachment as? AttachedSteps }
}

/// Steps behind one reference, because they are large and passed on often, with the monitors of a request.
package final class AttachedSteps: Sendable {
    /// The steps that run: both halves of each interceptor are installed.
    let steps: Steps
    /// The steps that were given.
    let given: Steps
    /// The monitors of the request: ``Request/eventMonitors``. Steps that are joined with others have none.
    let monitors: [any EventMonitor]
    /// Whether there are steps, and not only monitors.
    private let hasSteps: Bool
    /// The same steps before they got these monitors; `nil` if they were not attached before.
    private let original: AttachedSteps?
    /// Whether a step may replace a response that its caller would refuse, and needs the complete body for that.
    package let mayReplaceResponses: Bool

    /// The retry budgets of the steps, which count the requests to each host.
    let budgets: [RetryBudget]

    /// The kinds of steps that there are.
    package let kinds: StepKinds

    /// The adapters of ``steps``.
    let adapters: [Adapting]
    /// The steps that answer without waiting.
    let immediate: ImmediateSteps
    /// Whether a retry policy is asked about failures before the first byte of a streamed body.
    let waitsForFirstByte: Bool
    /// The cache of the steps, if it is the framework's.
    let cache: (any StagedCache)?

    convenience init(_ given: Steps) { self.init(given, []) }

    /// Creates the steps and monitors of a request.
    ///
    /// - Parameters:
    ///   - own: The steps of the request; `nil` if it has only monitors.
    ///   - original: The same steps with other monitors; `nil` if they are not attached yet.
    init(_ own: Steps?, _ monitors: [any EventMonitor], original: AttachedSteps? = nil) {
        let given = own ?? Steps()
        self.given = given
        self.monitors = monitors
        hasSteps = own != nil
        self.original = original.map { $0.original ?? $0 }
        steps = given.withWholeInterceptors
        kinds = StepKinds(steps)
        budgets = steps.budgets
        waitsForFirstByte = steps.retriers.contains(where: \.waitsForFirstByte)
        mayReplaceResponses = steps.mayReplaceResponses
        adapters = steps.adapters.map { Adapting($0) }
        cache = steps.cache as? any StagedCache
        immediate = ImmediateSteps(steps, adapters, cache: cache)
    }

    /// The steps of the request; `nil` if it has only monitors.
    var own: Steps? { hasSteps ? given : nil }

    /// The identity of the steps, which monitors do not change; `nil` if there are only monitors.
    var identity: ObjectIdentifier? { hasSteps ? ObjectIdentifier(original ?? self) : nil }

    /// Creates the steps of a session, followed by the steps of a request.
    init(_ session: AttachedSteps, followedBy request: AttachedSteps) {
        steps = session.steps.followed(by: request.steps)
        given = steps
        (monitors, hasSteps, original) = ([], true, nil)
        kinds = StepKinds(steps)
        budgets = steps.budgets
        waitsForFirstByte = steps.retriers.contains(where: \.waitsForFirstByte)
        mayReplaceResponses = session.mayReplaceResponses || request.mayReplaceResponses
        adapters = session.adapters + request.adapters
        cache = steps.cache as? any StagedCache
        immediate = ImmediateSteps(steps, adapters, cache: cache)
    }

    deinit { UserObjects.release([steps, given, monitors]) }
}

extension AttachedSteps {
    /// Runs the adapters of an attempt, in their order.
    ///
    /// - Parameter first: The number of the first adapter to run.
    func adapt(_ request: Request, from first: Int, context: CallContext) async throws -> Request {
        var (request, index) = (request, first)
        while let adapter = try adaptAtOnce(&request, from: &index, context: context) {
            request = try await adapter.adapt(request, context: context)
            didAdapt(request, context)
            index += 1
        }
        return request
    }

    /// Runs the adapters that do not wait, up to one that may.
    ///
    /// - Parameter index: The number of the first adapter to run; on return, the number of the adapter that is returned.
    /// - Returns: The adapter that may wait; `nil` if all adapters have run.
    @inline(never)
    func adaptAtOnce(
        _ request: inout Request, from index: inout Int, context: CallContext
    ) throws -> (any RequestAdapter)? {
        while index < adapters.count {
            try context.call.checkCancellation()
            switch adapters[index] {
            case .waiting(let adapter): return adapter
            case .immediate(let adapter): request = try adapter.adaptAtOnce(request, context: context)
            }
            didAdapt(request, context)
            index += 1
        }
        return nil
    }

    private func didAdapt(_ request: Request, _ context: CallContext) {
        if let observer = context.call.observer { observer.tell(.adapted(request), attempt: context.attempt) }
    }
}

/// An adapter of the framework's or of the user's.
enum Adapting: Sendable {
    case immediate(any ImmediateAdapter)
    /// An adapter that may wait, and then needs a task that the deadline can cancel.
    case waiting(any RequestAdapter)

    init(_ adapter: any RequestAdapter) {
        let adapter = (adapter as? AttachedInterceptor)?.interceptor ?? adapter
        if let immediate = adapter as? any ImmediateAdapter, immediate.isImmediate {
            self = .immediate(immediate)
        } else {
            self = .waiting(adapter)
        }
    }

    /// Whether the adapter may wait.
    var mayWait: Bool { if case .waiting = self { true } else { false } }
}

/// An adapter that does not wait.
protocol ImmediateAdapter: RequestAdapter {
    /// Whether this adapter does not wait.
    var isImmediate: Bool { get }
    /// Returns the same request as ``RequestAdapter/adapt(_:context:)``.
    func adaptAtOnce(_ request: Request, context: CallContext) throws -> Request
}

extension ImmediateAdapter {
    /// The default, `true`.
    var isImmediate: Bool { true }
}

/// The kinds of steps that every call asks about: to look at a step itself would be to copy it.
package struct StepKinds: OptionSet, Sendable {
    /// The bits of the set.
    package let rawValue: UInt8

    static let network = StepKinds(rawValue: 1 << 0)
    static let cookies = StepKinds(rawValue: 1 << 1)
    static let cache = StepKinds(rawValue: 1 << 2)
    static let limits = StepKinds(rawValue: 1 << 3)
    /// The handler that is asked about each redirect.
    package static let redirectHandler = StepKinds(rawValue: 1 << 4)
    /// The handler that is asked about each response that a cache could store.
    package static let storingHandler = StepKinds(rawValue: 1 << 5)

    /// Creates a set from its bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ steps: Steps) {
        self = []
        if !steps.network.isEmpty { insert(.network) }
        if steps.cookies != nil { insert(.cookies) }
        if steps.cache != nil { insert(.cache) }
        if steps.hasLimits { insert(.limits) }
        if steps.redirectHandler != nil { insert(.redirectHandler) }
        if steps.storingHandler != nil { insert(.storingHandler) }
    }
}

/// The steps of a call that answer without waiting, which its stages ask first.
final class ImmediateSteps: Sendable {
    /// The storage of cookies, if it does not wait.
    let cookies: CookieJar?
    /// Whether a step may wait before the first response, so that the call needs a task that its deadline can cancel. Retriers and redirect
    /// handlers may wait, too: the call gets its task when they are asked.
    let mayWait: Bool
    /// Whether code of the user's is among the steps that are asked in the caller's task.
    let hasUserCode: Bool

    init(_ steps: Steps, _ adapters: [Adapting], cache: (any StagedCache)?) {
        cookies = steps.cookies as? CookieJar
        mayWait =
            !steps.application.isEmpty || !steps.network.isEmpty || steps.hedging != nil || !steps.rateLimiters.isEmpty
            || steps.adaptiveConcurrency != nil || !steps.signers.isEmpty || adapters.contains(where: \.mayWait)
            || steps.cookies != nil && cookies == nil || steps.cache != nil && cache?.mayWait(in: steps) ?? true
        hasUserCode = steps.exchangeObserver != nil || steps.adapters.contains { $0 is Adapter }
    }
}
