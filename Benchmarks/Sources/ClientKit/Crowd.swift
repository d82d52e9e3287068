import CMeasure
import Glibc

/// Measures `in-flight`: sends all requests at once, and waits for the last response.
func measureInFlight(_ client: some Client, _ work: Work) async throws {
    var report = Report()
    let start = measure_now_ns()
    let latencies = try await withThrowingTaskGroup(of: Float.self) { group in
        for index in 0..<work.concurrency {
            let url = work.urls[index % work.urls.count]
            group.addTask {
                _ = try await client.get(url)
                return Float(measure_now_ns() - start) / 1e6
            }
        }
        return try await group.reduce(into: []) { $0.append($1) }
    }
    report.stop()
    report.print(requests: work.concurrency, latencies: latencies)
}

/// Measures `idle`: the connections of requests that were sent at once, while nothing happens after the last response.
func measureIdleConnections(_ client: some Client, _ work: Work) async throws {
    let idle = Report()
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<work.concurrency { group.addTask { _ = try await client.get(work.url) } }
        try await group.waitForAll()
    }
    measure_give_back_memory()
    var report = Report()
    report.takeIdleMemory(from: idle)
    usleep(UInt32(work.seconds * 1e6))
    report.stop()
    report.print(requests: 1)
}

/// Measures `cancel`: sends all requests at once to a server that does not respond, cancels their task group when the server has received
/// all of them, and measures until the server has seen every socket closed.
func measureCancel(_ client: some Client, _ work: Work) async {
    let idle = Report()
    let requests = Task {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<work.concurrency {
                group.addTask { _ = try? await client.get(work.url) }
            }
        }
    }
    _ = await ask("/control/open/\(work.concurrency)", work)
    var report = Report()
    report.takeIdleMemory(from: idle)
    requests.cancel()
    await requests.value
    let closed = await ask("/control/closed", work)
    report.stop(atNanoseconds: closed)
    report.print(requests: work.concurrency)
}

/// Sends a question to the test server, and waits for its reply without blocking a thread of the pool.
func ask(_ question: String, _ work: Work) async -> UInt64 {
    await withCheckedContinuation { continuation in
        let context = Unmanaged.passRetained(Waiter(continuation)).toOpaque()
        control_ask_in_background(work.controlPort, question, context) { context, answer in
            guard let context else { return }
            Unmanaged<Waiter>.fromOpaque(context).takeRetainedValue().continuation.resume(returning: answer)
        }
    }
}

/// A continuation that a C callback can hold.
private final class Waiter: Sendable {
    let continuation: CheckedContinuation<UInt64, Never>

    init(_ continuation: CheckedContinuation<UInt64, Never>) {
        self.continuation = continuation
    }
}
