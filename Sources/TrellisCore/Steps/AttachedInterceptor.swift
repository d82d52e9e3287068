/// An interceptor that was added to both lists of ``Steps`` or of an ``Interceptor`` at once. Its identity shows that the two
/// entries belong together.
final class AttachedInterceptor: RequestInterceptor {
    let interceptor: any RequestInterceptor

    init(_ interceptor: any RequestInterceptor) { self.interceptor = interceptor }

    func adapt(_ request: Request, context: CallContext) async throws -> Request {
        try await interceptor.adapt(request, context: context)
    }

    func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        await interceptor.retry(attempt, context: context)
    }
}

/// An interceptor that only adapts or only retries, so that its other half need not be installed.
protocol PartialInterceptor: RequestInterceptor {}

extension Steps {
    /// The same steps, with both halves of each interceptor.
    var withWholeInterceptors: Steps {
        var whole = self
        (whole.adapters, whole.retriers) = AttachedInterceptor.whole(adapters, retriers)
        return whole
    }
}

extension AttachedInterceptor {
    /// Returns both lists, with both halves of each interceptor.
    ///
    /// An interceptor that is in one list alone gets its other half at the end of the other list. An interceptor in both lists is
    /// complete: two entries are the same interceptor if they are one object, or values of one type.
    static func whole(
        _ adapters: [any RequestAdapter], _ retriers: [any RequestRetrier]
    ) -> ([any RequestAdapter], [any RequestRetrier]) {
        var wholeAdapters = adapters.map { ($0 as? AttachedInterceptor)?.interceptor ?? $0 }
        var wholeRetriers = retriers.map { ($0 as? AttachedInterceptor)?.interceptor ?? $0 }
        var halves = adapters.compactMap(half)
        for retrier in retriers.compactMap(half) {
            if let index = halves.firstIndex(where: { $0.isSame(as: retrier) }) {
                halves.remove(at: index)
            } else {
                wholeAdapters.append(retrier)
            }
        }
        for adapter in halves { wholeRetriers.append(adapter) }
        return (wholeAdapters, wholeRetriers)
    }
}

/// Returns an adapter or retrier as an interceptor, if its other half may be missing.
private func half(_ step: Any) -> (any RequestInterceptor)? {
    step is any PartialInterceptor || step is AttachedInterceptor ? nil : step as? any RequestInterceptor
}

extension RequestInterceptor {
    fileprivate func isSame(as other: any RequestInterceptor) -> Bool {
        guard type(of: self) == type(of: other) else { return false }
        return !(type(of: self) is AnyClass) || self as AnyObject === other as AnyObject
    }
}
