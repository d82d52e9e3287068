/// The retry policies among the steps, as ``SessionConfiguration/retry``.
extension Steps {
    /// The first retry policy in the order of the retriers; `nil` if there is none. A policy within an ``Interceptor`` does not count.
    var retryPolicy: RetryPolicy? {
        retriers.compactMap { Self.retryPolicy($0) }.first ?? adapters.compactMap { Self.retryPolicy($0) }.first
    }

    /// Puts one retry policy where the first one is, or at the end if there is none, and removes all others. Removes all of them if
    /// `policy` is `nil`.
    mutating func replaceRetryPolicies(with policy: RetryPolicy?) {
        let adapterIndex = adapters.firstIndex { Self.retryPolicy($0) != nil }
        let retrierIndex = retriers.firstIndex { Self.retryPolicy($0) != nil }
        adapters.removeAll { Self.retryPolicy($0) != nil }
        retriers.removeAll { Self.retryPolicy($0) != nil }
        guard let policy else { return }
        let attached = AttachedInterceptor(policy)
        adapters.insert(attached, at: adapterIndex ?? adapters.endIndex)
        retriers.insert(attached, at: retrierIndex ?? retriers.endIndex)
    }

    /// Returns a step as the retry policy that it is; `nil` if it is another one.
    private static func retryPolicy(_ step: Any) -> RetryPolicy? {
        if let attached = step as? AttachedInterceptor { return attached.interceptor as? RetryPolicy }
        return step as? RetryPolicy
    }
}
