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
