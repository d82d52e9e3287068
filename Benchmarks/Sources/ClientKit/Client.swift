public import FoundationEssentials

/// What an HTTP client library must do to be measured. Everything throws unless the answer is a complete 200.
public protocol Client: Sendable {
    /// Sends a GET and returns the length of the body.
    func get(_ url: String) async throws -> Int

    /// Sends a GET, reads every response header and returns the length of all their names and values.
    func getReadingHeaders(_ url: String) async throws -> Int

    /// Posts a JSON body and returns the answer's.
    func post(_ json: Data, to url: String) async throws -> Data

    /// Streams the body of a GET into the sink.
    func download(_ url: String, into sink: inout ByteSink) async throws

    /// Downloads the body of a GET into a file, and returns its length. Without a way of its own: streams it into the file.
    func download(_ url: String, toFile path: String) async throws -> Int64

    /// Downloads the body of a GET so often, each time into the file that the closure names for it, so many at a time, and returns
    /// the length of all. Without a way of its own: a task for each of those that are under way.
    func download(_ url: String, toFiles path: @escaping @Sendable (Int) -> String, count: Int, concurrency: Int)
        async throws -> Int64

    /// Streams a file as the body of a POST and returns what the server says that it received.
    func upload(file: String, to url: String) async throws -> Int

    /// Streams the body of a GET as lines, each of them a `String`, and returns their number and the length of the body.
    func readLines(_ url: String) async throws -> (count: Int, bytes: Int)

    /// Streams the body of a GET as server-sent events and returns their number.
    func readEvents(_ url: String) async throws -> Int

    /// Streams the body of a GET as JSON, one ``LogEntry`` a line, and returns their number.
    func readEntries(_ url: String) async throws -> Int

    /// The executor to prefer where that is what is measured.
    var executor: (any TaskExecutor)? { get }

    /// Closes every connection.
    func shutdown() async
}

extension Client {
    /// No executor of its own.
    public var executor: (any TaskExecutor)? { nil }

    /// Chunk by chunk.
    public func download(_ url: String, toFile path: String) async throws -> Int64 {
        var sink = try ByteSink(path: path)
        try await download(url, into: &sink)
        sink.close()
        return sink.count
    }

    /// In a group of tasks, each of which goes on with what nobody has begun.
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

    /// Not what this client is measured with.
    public func readLines(_ url: String) async throws -> (count: Int, bytes: Int) { throw UnexpectedAnswer("no lines") }

    /// Not what this client is measured with.
    public func readEvents(_ url: String) async throws -> Int { throw UnexpectedAnswer("no events") }

    /// Not what this client is measured with.
    public func readEntries(_ url: String) async throws -> Int { throw UnexpectedAnswer("no entries") }
}

/// The answer was not what the servers of this benchmark send.
public struct UnexpectedAnswer: Error, CustomStringConvertible {
    /// What came instead.
    public let description: String

    /// Keeps what came instead.
    public init(_ description: String) {
        self.description = "unexpected answer: \(description)"
    }
}
