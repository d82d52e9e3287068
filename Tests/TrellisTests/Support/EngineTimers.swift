import CurlEngine

@testable import TrellisCore

extension EngineExecutor {
    /// The time until the engine's next timer is due, on its clock: zero for a timer that is due, `nil` if none is set.
    var timeToNextTimer: Duration? {
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

extension Session {
    /// The time until the next timer of all engines that are not stuck is due: zero for a timer that is due, `nil` if none is set.
    var timeToNextTimer: Duration? {
        get async {
            var times: [Duration] = []
            for engine in engines.started where !engine.executor.isStuck {
                if let time = await engine.executor.timeToNextTimer { times.append(time) }
            }
            return times.min()
        }
    }
}
