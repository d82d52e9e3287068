import CMeasure
import FoundationEssentials
import Glibc

/// Measures `websocket-echo`: one message there and back after the other on one WebSocket.
func measureEcho(_ client: some Client, _ work: Work) async throws {
    try await withTaskExecutorPreference(work.onExecutor ? client.executor : nil) {
        let socket = try await client.openWebSocket(work.url)
        let message = Data(repeating: UInt8(ascii: "e"), count: 1024)
        _ = try await goThereAndBack(message, socket, seconds: work.warmUpSeconds, count: .max)
        var report = Report()
        let latencies = try await goThereAndBack(
            message, socket, seconds: work.requests > 0 ? .infinity : work.seconds,
            count: work.requests > 0 ? work.requests : .max)
        report.stop()
        report.print(requests: latencies.count, latencies: latencies)
        try await socket.close()
    }
}

/// Sends a message and receives it, until the time is over or `count` messages were received. Returns the latencies in ms.
private func goThereAndBack(
    _ message: Data, _ socket: some Conversation, seconds: Double, count: Int
) async throws -> [Float] {
    let end = seconds.isFinite ? measure_now_ns() + UInt64(seconds * 1e9) : .max
    var latencies: [Float] = []
    while latencies.count < count {
        let start = measure_now_ns()
        try await socket.send(message)
        guard try await socket.receive() == message else { throw UnexpectedAnswer("another message") }
        let now = measure_now_ns()
        latencies.append(Float(now - start) / 1e6)
        if now >= end { break }
    }
    return latencies
}

/// Measures `websocket-stream`: messages of the server, which closes the WebSocket after the last one.
func measureMessages(_ client: some Client, _ work: Work) async throws {
    var report = Report()
    let socket = try await client.openWebSocket(work.url)
    var bytes: Int64 = 0
    while let message = try await socket.receive() { bytes += Int64(message.count) }
    report.stop()
    report.print(requests: 1, bytes: bytes)
    try await socket.close()
}

/// Measures `websocket-idle`: very many open WebSockets, each with a task that waits for its next message, while nothing happens.
func measureIdle(_ client: some Client, _ work: Work) async throws {
    let idle = Report()
    let baseline = try await measureNothing(client, work)
    try await withThrowingTaskGroup(of: Void.self) { group in
        let (opened, reports) = AsyncStream.makeStream(of: Void.self)
        var openings = opened.makeAsyncIterator()
        for index in 0..<work.concurrency {
            // A server's queue for new connections is limited, and so is the memory for handshakes at the same time.
            if index >= openingsAtOnce { await openings.next() }
            group.addTask {
                let socket = try await client.openWebSocket(work.url)
                reports.yield()
                // The group is cancelled at the end.
                _ = try? await socket.receive()
            }
        }
        for _ in 0..<min(openingsAtOnce, work.concurrency) { await openings.next() }
        // The last tasks begin to wait.
        try await Task.sleep(for: .milliseconds(200))
        var report = Report()
        report.takeIdleMemory(from: idle)
        // No task of this program is due meanwhile. The wake-ups of this wait and of the runtime are those of the baseline, and all others
        // are the client's.
        usleep(UInt32(work.seconds * 1e6))
        report.stop()
        report.subtractWakeUps(of: baseline)
        report.print(requests: 1)
        group.cancelAll()
    }
}

/// Measures the process while it has no WebSocket, for as long as the WebSockets are measured. The client has opened and closed one before,
/// so that its threads and those of the runtime have started.
private func measureNothing(_ client: some Client, _ work: Work) async throws -> Report {
    let socket = try await client.openWebSocket(work.url)
    try await socket.close()
    // The work of the end is done meanwhile.
    try await Task.sleep(for: .milliseconds(200))
    var report = Report()
    usleep(UInt32(work.seconds * 1e6))
    report.stop()
    return report
}

private let openingsAtOnce = 64
