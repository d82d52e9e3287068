import CMeasure
import Glibc

/// Measures `waiting-streams`: the requests that the server has received and does not answer, while nothing happens.
func measureWaitingStreams(_ client: some Client, _ work: Work) async {
    let idle = Report()
    // The authorities have been read before the other requests begin, as in a program that has run for a while. The server answers one
    // question at a time.
    let first = Task { _ = try? await client.get(work.url) }
    _ = await ask("/control/open/1", work)
    let others = Task {
        await withTaskGroup(of: Void.self) { group in
            for index in 1..<work.concurrency {
                let url = work.urls[index % work.urls.count]
                group.addTask { _ = try? await client.get(url) }
            }
        }
    }
    _ = await ask("/control/open/\(work.concurrency)", work)
    measure_give_back_memory()
    var report = Report()
    report.takeIdleMemory(from: idle)
    usleep(UInt32(work.seconds * 1e6))
    report.stop()
    for requests in [first, others] { requests.cancel() }
    for requests in [first, others] { await requests.value }
    report.print(requests: 1)
}

/// Measures `readers` and `readers-beside-stopped`: many bodies at once, beside the responses of readers that have stopped.
///
/// - Parameter stopped: The number of readers that have stopped.
func measureReaders(_ client: some Client, _ work: Work, stopped: Int) async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let isOver = Task { for await _ in ends {} }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<stopped {
            group.addTask {
                try await client.read(work.url) {
                    begin.yield()
                    await isOver.value
                }
            }
        }
        var stops = begun.makeAsyncIterator()
        for _ in 0..<stopped { await stops.next() }
        var report = Report()
        let bytes = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<work.concurrency {
                group.addTask {
                    var sink = try ByteSink(path: nil)
                    try await client.download(work.url, into: &sink)
                    return sink.count
                }
            }
            return try await group.reduce(0, +)
        }
        report.stop()
        end.finish()
        try await group.waitForAll()
        report.print(requests: work.concurrency, bytes: bytes)
    }
}
