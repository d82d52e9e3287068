import CurlEngine

/// The observation of a directory that names the endpoints of an origin, from the first request on.
final class EndpointObservation: EndpointFeed {
    private struct State {
        var task: Task<Void, Never>?
        var hasEnded = false
    }

    private let discovery: any ServiceDiscovery
    /// Waits for a time. Returns `false` if the session has ended.
    private let pause: @Sendable (Duration) async -> Bool
    private let state = Locked(State())

    init(_ discovery: any ServiceDiscovery, pause: @escaping @Sendable (Duration) async -> Bool) {
        self.discovery = discovery
        self.pause = pause
    }

    func update(_ group: EndpointGroup, at now: EngineInstant) -> Bool {
        state.withLock { state in
            guard state.task == nil, !state.hasEnded else { return }
            state.task = Task(executorPreference: globalConcurrentExecutor) { [discovery, pause] in
                await discovery.observe(for: group, pause)
            }
        }
        return false
    }

    func end() {
        let task = state.withLock { state in
            state.hasEnded = true
            return state.task.take()
        }
        task?.cancelOffEngine()
    }
}

extension ServiceDiscovery {
    /// Gives a group the sets of the directory, until its sequence or the session ends.
    ///
    /// - Parameter pause: Waits for a time. Returns `false` if the session has ended.
    fileprivate func observe(for group: EndpointGroup, _ pause: @Sendable (Duration) async -> Bool) async {
        var failures = 0
        while !Task.isCancelled {
            do {
                for try await endpoints in self.endpoints(of: group.origin) {
                    failures = 0
                    group.replace(by: endpoints)
                }
                return group.fail(EndpointsEnded())
            } catch {
                failures += 1
                group.fail(error)
            }
            guard await pause(Duration.seconds(1).backoff(after: failures, upTo: .seconds(60))) else { return }
        }
    }
}

/// The end of a directory's sequence before its first set.
private struct EndpointsEnded: Error, CustomStringConvertible {
    var description: String { "the sequence of the directory has ended" }
}
