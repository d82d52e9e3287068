import ClientKit
import Foundation
import FoundationNetworking

/// A download whose chunks are written to a sink as the delegate receives them, which is how URLSession streams on Linux.
///
/// Unchecked: between the start and the end of `run`, only the session's delegate queue accesses the variables, and `run` reads the sink
/// after the continuation was resumed from that queue.
final class StreamingDownload: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private var sink: ByteSink
    private var failure: (any Error)?
    private var ended: CheckedContinuation<Void, Never>?

    init(into sink: ByteSink) {
        self.sink = sink
    }

    /// Runs the request in a session of its own, and returns the sink with all bytes that arrived.
    func run(_ request: URLRequest) async throws -> ByteSink {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: queue)
        defer { session.finishTasksAndInvalidate() }
        await withCheckedContinuation { continuation in
            ended = continuation
            session.dataTask(with: request).resume()
        }
        if let failure { throw failure }
        return sink
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        do {
            try data.withUnsafeBytes { try sink.receive($0) }
        } catch {
            failure = error
            dataTask.cancel()
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        failure = failure ?? error
        ended?.resume()
    }
}
