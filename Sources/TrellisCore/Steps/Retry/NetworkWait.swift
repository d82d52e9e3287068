import CurlEngine

/// A wait for a network that is away, at most for a limited time.
struct NetworkWait: Sendable {
    /// The longest time to wait.
    let limit: Duration
    var reachability = NetworkReachability.shared
    var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Returns whether the network was away and is back: `false` at once if the network is available or the system does not report it,
    /// and at the limit, or in a cancelled task, if the network is not available.
    func untilThereIsOneAgain() async -> Bool {
        guard await reachability.status == .notReachable else { return false }
        return await withTaskGroup { [self] group in
            group.addTask { (try? await reachability.waitUntilReachable()) != nil }
            group.addTask {
                try? await pause(limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}
