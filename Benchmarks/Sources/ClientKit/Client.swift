public import FoundationEssentials

/// The operations of an HTTP client library that are measured. Each throws an error unless the response is a complete 200.
public protocol Client: Sendable {
    /// Sends a GET and returns the length of the body.
    func get(_ url: String) async throws -> Int

    /// Sends a GET, reads every header field of the response and returns the length of all names and values.
    func getReadingHeaders(_ url: String) async throws -> Int

    /// Posts a JSON body and returns the body of the response.
    func post(_ json: Data, to url: String) async throws -> Data

    /// Streams the body of a GET into the sink.
    func download(_ url: String, into sink: inout ByteSink) async throws

    /// Reads the first chunk of the body of a GET, stops while the closure runs, and then gives the rest up.
    func read(_ url: String, stoppingWhile stop: @escaping @Sendable () async -> Void) async throws

    /// Downloads the body of a GET into a file, and returns its length. The default implementation streams the body into the
    /// file.
    func download(_ url: String, toFile path: String) async throws -> Int64

    /// Downloads the body of a GET `count` times, each time into the file that the closure returns, `concurrency` at a time, and returns
    /// the length of all bodies. The default implementation uses a task for each download in progress.
    func download(_ url: String, toFiles path: @escaping @Sendable (Int) -> String, count: Int, concurrency: Int)
        async throws -> Int64

    /// Streams a file as the body of a POST and returns the number of bytes that the server reports as received.
    func upload(file: String, to url: String) async throws -> Int

    /// Streams the body of a GET as lines, each as a `String`, and returns the number of lines and the length of the body.
    func readLines(_ url: String) async throws -> (count: Int, bytes: Int)

    /// Streams the body of a GET as server-sent events and returns the number of events.
    func readEvents(_ url: String) async throws -> Int

    /// Streams the body of a GET as JSON, one ``LogEntry`` per line, and returns the number of entries.
    func readEntries(_ url: String) async throws -> Int

    /// The WebSocket of the client.
    associatedtype Socket: Conversation = NoConversation

    /// Opens a WebSocket without pings in the time of a benchmark.
    func openWebSocket(_ url: String) async throws -> Socket

    /// Returns the cache of a folder, which is created if there is none.
    func openCache(in folder: String) throws -> any DiskCache

    /// The executor that tasks prefer in a benchmark of executors; `nil` if the client has none.
    var executor: (any TaskExecutor)? { get }

    /// The counters of the client's engines since its start; empty if the client has no engines.
    var engineCounters: [EngineCounters] { get }

    /// Closes all connections.
    func shutdown() async
}

extension Client {
    /// The default, `nil`, means that the client has no executor.
    public var executor: (any TaskExecutor)? { nil }

    /// The default, an empty array, means that the client has no engines.
    public var engineCounters: [EngineCounters] { [] }

    /// Streams the body into the file, chunk by chunk.
    public func download(_ url: String, toFile path: String) async throws -> Int64 {
        var sink = try ByteSink(path: path)
        try await download(url, into: &sink)
        sink.close()
        return sink.count
    }

    /// Downloads in a task group, to which the next download is added when one has ended.
    public func download(
        _ url: String, toFiles path: @escaping @Sendable (Int) -> String, count: Int, concurrency: Int
    ) async throws -> Int64 {
        try await withThrowingTaskGroup(of: Int64.self) { group in
            var (next, bytes) = (0, Int64(0))
            func add() {
                guard next < count else { return }
                let file = path(next)
                next += 1
                group.addTask { try await download(url, toFile: file) }
            }
            for _ in 0..<concurrency { add() }
            for try await length in group {
                bytes += length
                add()
            }
            return bytes
        }
    }

    /// Throws ``UnexpectedAnswer``, which is the default for a client that is not measured with readers that stop.
    public func read(_ url: String, stoppingWhile stop: @escaping @Sendable () async -> Void) async throws {
        throw UnexpectedAnswer("no reader that stops")
    }

    /// Throws ``UnexpectedAnswer``, which is the default for a client that is not measured with lines.
    public func readLines(_ url: String) async throws -> (count: Int, bytes: Int) { throw UnexpectedAnswer("no lines") }

    /// Throws ``UnexpectedAnswer``, which is the default for a client that is not measured with events.
    public func readEvents(_ url: String) async throws -> Int { throw UnexpectedAnswer("no events") }

    /// Throws ``UnexpectedAnswer``, which is the default for a client that is not measured with JSON lines.
    public func readEntries(_ url: String) async throws -> Int { throw UnexpectedAnswer("no entries") }

    /// Throws ``UnexpectedAnswer``, which is the default for a client that is not measured with a cache on a disk.
    public func openCache(in folder: String) throws -> any DiskCache { throw UnexpectedAnswer("no cache on a disk") }
}

extension Client where Socket == NoConversation {
    /// Throws ``UnexpectedAnswer``, which is the default for a client that is not measured with WebSockets.
    public func openWebSocket(_ url: String) async throws -> NoConversation { throw UnexpectedAnswer("no WebSocket") }
}

/// A response that the servers of this benchmark do not send.
public struct UnexpectedAnswer: Error, CustomStringConvertible {
    /// A description of the response.
    public let description: String

    /// Creates the error with a description of the response.
    public init(_ description: String) {
        self.description = "unexpected answer: \(description)"
    }
}
