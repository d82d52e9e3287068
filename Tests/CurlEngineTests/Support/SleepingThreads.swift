import TestSupport
import TrellisCore

/// The threads of the engines of this process, which sleep when there is nothing to do.
///
/// A thread that waits for sockets with no limit on time, or with a limit that is far away, does not wake by itself. This is seen from
/// outside, so that no timer of Trellis or of libcurl is forgotten, and without letting time pass.
enum SleepingThreads {
    /// A configuration in which the only timer of an idle engine, which closes idle connections, is due after an hour.
    static var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.limits.idleLifetime = .seconds(3600)
        return configuration
    }

    /// Waits until a number of threads sleep for long, and have not woken each other since the last look.
    static func wait(count: Int) async {
        var last: [String: Int] = [:]
        while !Task.isCancelled {
            let now = wakeUps
            if now.count == count, now == last { break }
            last = now
            // A thread that another one wakes now and then is awake, or has woken, at one of the looks.
            pause(milliseconds: Scale.isFull ? 500 : 10)
        }
    }

    /// The numbers of times that the threads have woken; none if one of them does not sleep, or only for a short time.
    private static var wakeUps: [String: Int] {
        var wakeUps: [String: Int] = [:]
        // A thread that an engine has just started has the name of the engine's thread for a moment.
        for thread in ProcessFacts.threads(named: "trellis-engine") {
            guard let limit = ProcessFacts.socketWaitLimit(ofThread: thread), limit < 0 || limit > 1_000_000,
                let count = ProcessFacts.voluntarySwitches(ofThread: thread)
            else { return [:] }
            wakeUps[thread] = count
        }
        return wakeUps
    }
}
