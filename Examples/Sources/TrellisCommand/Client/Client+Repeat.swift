import TerminalKit
import Trellis

/// The mode of `--repeat`: the same request again and again, whose bodies are read and dropped, and what that took.
extension Client {
    /// Sends the request so many times, and prints the times. Returns the exit status of the first failure, if any.
    func measure(_ count: Int) async -> CInt {
        do {
            let session = Session(configuration: try sessionConfiguration(try await options.makeSteps()))
            let request = try options.makeRequest()
            guard request.body?.isReplayable ?? true else {
                let advice = options.readsPipedInput ? ": it is standard input (--no-stdin sends none)" : ""
                throw RequestFailure("body_not_replayable", "the body cannot be sent \(count) times\(advice)")
            }
            let start = ContinuousClock.now
            var sum = Measurement()
            await withTaskGroup(of: Result<(Duration, Int, Int64), RequestFailure>.self) { group in
                for index in 0..<count {
                    if index >= options.tools.concurrency ?? 1, let result = await group.next() { sum.add(result) }
                    guard !Task.isCancelled else { break }
                    group.addTask { await Self.measure(request, in: session) }
                }
                for await result in group { sum.add(result) }
            }
            await session.shutdown()
            try await StandardOutput.write(sum.lines(after: .now - start, on: .output).joined(separator: "\n") + "\n")
            guard let failure = sum.failure else { return ExitStatus.done }
            complain(failure)
            return failure.exitStatus
        } catch is ReaderHasGone {
            return ExitStatus.done
        } catch {
            return await fail(error, after: .zero)
        }
    }

    private static func measure(
        _ request: Request, in session: Session
    ) async -> Result<(Duration, Int, Int64), RequestFailure> {
        let start = ContinuousClock.now
        do {
            let response = try await session.stream(request)
            var size: Int64 = 0
            for try await chunk in response.chunks { size += Int64(chunk.count) }
            return .success((.now - start, response.response.status.code, size))
        } catch {
            return .failure(RequestFailure(error))
        }
    }
}

/// The results of repeated requests.
struct Measurement {
    private var times: [Duration] = []
    private var statuses: [Int: Int] = [:]
    private var bytes: Int64 = 0
    private var failures = 0
    private(set) var failure: RequestFailure?

    mutating func add(_ result: Result<(Duration, Int, Int64), RequestFailure>) {
        switch result {
        case .success(let (time, status, size)):
            times.append(time)
            statuses[status, default: 0] += 1
            bytes += size
        case .failure(let error):
            failures += 1
            failure = failure ?? error
        }
    }

    /// The results for people: counts, rates, percentiles, and a histogram.
    func lines(after elapsed: Duration, on terminal: Terminal) -> [String] {
        let times = times.sorted()
        let codes = statuses.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
        let counts = codes + (failures > 0 ? ["\(failures) failed"] : [])
        let rate = elapsed.inSeconds > 0 ? Double(times.count) / elapsed.inSeconds : 0
        var lines = [
            "\(times.count + failures) requests in \(elapsed.forPeople): \(counts.joined(separator: ", "))",
            "\(Int(rate.rounded())) requests/s, \(bytes.inBytes), \(elapsed.rate(of: bytes))",
        ]
        guard let first = times.first, let last = times.last else { return lines }
        let shares = [0.5, 0.9, 0.95, 0.99].map { share in
            "p\(Int(share * 100)) \(times[min(times.count - 1, Int(share * Double(times.count)))].forPeople)"
        }
        lines.append("min \(first.forPeople), \(shares.joined(separator: ", ")), max \(last.forPeople)")
        return lines + histogram(times, from: first, to: last, on: terminal)
    }

    /// Returns a line for each tenth of the span of the times.
    private func histogram(_ times: [Duration], from first: Duration, to last: Duration, on terminal: Terminal)
        -> [String]
    {
        guard times.count > 1, last > first else { return [] }
        let bins = min(10, times.count), width = (last - first) / bins
        var counts = [Int](repeating: 0, count: bins)
        for time in times { counts[min(bins - 1, Int((time - first) / width))] += 1 }
        let most = counts.max() ?? 1, columns = max(10, min(50, terminal.columns - 30))
        return counts.enumerated().map { index, count in
            let label = (first + width * (index + 1)).forPeople
            let bar = String(repeating: "█", count: count == 0 ? 0 : max(1, count * columns / most))
            return
                "≤ \(label)\(String(repeating: " ", count: max(1, 10 - label.count)))\(terminal.styled(bar, .green)) \(count)"
        }
    }
}
