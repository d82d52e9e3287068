package import CurlEngine

extension EngineExecutor {
    /// The time until the engine's next timer is due, on its clock: zero for a timer that is due, `nil` if none is set.
    package var timeToNextTimer: Duration? {
        get async {
            await withContinuation { continuation in
                submit { [self] in
                    let loop = engineLoop
                    let time: Duration? = loop.nextTimer.map { .nanoseconds($0.nanoseconds(since: loop.latest)) }
                    continuation.resume(returning: time)
                }
            }
        }
    }
}
