import CurlEngine
import TestSupport

@testable import TrellisCore

extension Session {
    /// The time until the next timer of all engines is due: zero for a timer that is due, `nil` if none is set.
    var timeToNextTimer: Duration? {
        get async {
            var times: [Duration] = []
            for engine in engines.started {
                if let time = await engine.executor.timeToNextTimer { times.append(time) }
            }
            return times.min()
        }
    }
}
