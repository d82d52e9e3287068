import CMeasure
import Glibc

/// Runs the complete `main` of a client: does the work that the command line describes, prints the figures, and ends the process with
/// status 1 if a request failed.
public func run<C: Client>(_ makeClient: (Work) throws -> C) async {
    measure_raise_file_limit()
    let work = Work.fromCommandLine()
    do {
        let client = try makeClient(work)
        switch work.kind {
        case .get, .emptyGet, .handleGet, .streamGet, .adaptedGet, .observedGet, .realisticGet, .instrumentedGet,
            .uninstrumentedGet, .mockedGet, .cassette, .cachedGet, .cachedDiskGet, .unlikeGet, .missedGet, .spreadGet,
            .fleetGet, .headers, .json:
            try await ClosedLoop(client: client, work: work).run()
        case .download, .storedDownload, .downloadFile: try await measureDownload(client, work)
        case .downloadFiles: try await measureDownloads(client, work)
        case .uploadFile: try await measureUpload(client, work)
        case .inFlight: try await measureInFlight(client, work)
        case .idle: try await measureIdleConnections(client, work)
        case .websocketEcho: try await measureEcho(client, work)
        case .websocketStream: try await measureMessages(client, work)
        case .websocketIdle: try await measureIdle(client, work)
        case .cacheFill: try await measureCacheFilling(client, work)
        case .cacheOpen: try await measureCacheOpening(client, work)
        case .cancel: await measureCancel(client, work)
        case .waitingStreams: await measureWaitingStreams(client, work)
        case .readers: try await measureReaders(client, work, stopped: 0)
        case .readersBesideStopped: try await measureReaders(client, work, stopped: work.concurrency)
        case .lines, .sse, .ndjson: try await measureText(client, work)
        }
        await client.shutdown()
    } catch {
        fail("\(work.kind.rawValue): \(error)")
    }
}

/// Ends the process with a message on standard error.
func fail(_ message: String, status: Int32 = 1) -> Never {
    var line = message + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(status)
}
