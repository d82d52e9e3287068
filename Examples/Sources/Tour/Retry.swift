import TerminalKit
import Trellis

/// A server that is busy is asked again, a little later each time.
struct Retry: Part {
    let title = "A retry"

    func run(with guide: Guide, on server: TourServer) async throws {
        var statuses: [Int] = []
        let start = ContinuousClock.now
        while true {
            let (data, response) = try await guide.session.data(server.url("/busy"))
            statuses.append(response.status.code)
            if response.status == .ok {
                try expect(statuses == [503, 503, 200], "the statuses were \(statuses)")
                let elapsed = ContinuousClock.now - start
                let text = String(decoding: data, as: UTF8.self).split(separator: "\n").joined()
                return guide.say("\(statuses.count) attempts in \(elapsed.forPeople), and then: \(text)")
            }
            try expect(response.status == .serviceUnavailable && statuses.count < 5, "status \(response.status)")
            let pause = Duration.milliseconds(100) * (1 << (statuses.count - 1)) * Double.random(in: 0.75...1.25)
            guide.say("attempt \(statuses.count): \(response.status); once more in \(pause.forPeople)")
            try await Task.sleep(for: pause)
        }
    }
}
