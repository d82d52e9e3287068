import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// A session on a scripted transport whose server has one file, and a temporary folder for the downloads of that file.
struct ScriptedDownload {
    static let url = "http://a.example/f"
    /// A file that is large enough for two connections, without a byte that is zero.
    static let largeFile: Data = {
        let (pattern, size) = (Data((1...251).map { UInt8($0) }), 4 << 20)
        var file = Data(capacity: size + pattern.count)
        while file.count < size { file += pattern }
        return file.prefix(size)
    }()

    let scripted: Scripted
    let folder: TemporaryFolder
    /// The file on the server.
    let content: Data

    var clock: TestClock { scripted.clock }
    var transport: ScriptedTransport { scripted.transport }
    var session: Session { scripted.session }

    /// Creates the session and the folder.
    ///
    /// - Parameters:
    ///   - content: The file on the server; ten digits unless given.
    ///   - change: A change of the session's configuration.
    init(
        _ content: Data = Data("0123456789".utf8), _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws {
        self.content = content
        scripted = Scripted(change)
        folder = try TemporaryFolder()
    }

    // MARK: Files

    /// The path of the destination.
    var path: String { folder.path("f") }
    /// The path of the destination's partial file.
    var partialPath: String { folder.path(".f.trellis-part") }
    /// The path of the checkpoint.
    var checkpointPath: String { folder.path(".f.trellis-note") }

    /// The content of the destination; `nil` if there is no file.
    var file: Data? { FileManager.default.contents(atPath: path) }

    /// Whether the file at the destination is the file on the server, and the only one in the folder.
    var isComplete: Bool { file == content && folder.names == ["f"] }

    /// The ranges of the checkpoint; `nil` if there is no checkpoint.
    var checkpoint: [[Int]]? {
        struct Checkpoint: Decodable { let done: [[Int]] }
        return FileManager.default.contents(atPath: checkpointPath)
            .flatMap { try? JSONDecoder().decode(Checkpoint.self, from: $0) }?.done
    }

    /// Waits until the checkpoint lists exactly these ranges, which is after the disk has them.
    func waitForCheckpoint(_ ranges: [[Int]]) async throws { try await wait { checkpoint == ranges } }

    // MARK: Downloads

    /// Returns a download to the destination, which has not started.
    func download(
        _ options: DownloadDestination.Options = [], timeouts: Timeouts? = nil, checksum: Checksum? = nil,
        _ change: (inout DownloadOptions) -> Void = { _ in }
    ) -> DownloadRequest {
        var downloadOptions = DownloadOptions()
        change(&downloadOptions)
        return session.downloadRequest(
            Self.url, to: .file(path, options), checksum: checksum, options: downloadOptions, timeouts: timeouts)
    }

    /// Starts a download, and returns it with its first attempt.
    func start(
        _ options: DownloadDestination.Options = [], timeouts: Timeouts? = nil,
        _ change: (inout DownloadOptions) -> Void = { _ in }
    ) async throws -> (DownloadRequest, ScriptedAttempt) {
        let download = download(options, timeouts: timeouts, change)
        download.resume()
        return (download, try await transport.nextAttempt())
    }

    // MARK: Responses

    /// Sends the head of a response with the complete file.
    func sendHead(_ attempt: ScriptedAttempt, tag: String = "\"a\"", _ fields: HTTPFields = [:]) {
        var headers: HTTPFields = [.eTag: tag, .contentLength: "\(content.count)", .acceptRanges: "bytes"]
        headers.append(contentsOf: fields)
        attempt.connect()
        attempt.receiveHead(headers: headers)
    }

    /// Sends the complete file.
    func sendFile(_ attempt: ScriptedAttempt) {
        sendHead(attempt)
        attempt.receiveBody(content)
        attempt.end()
    }

    /// Sends the head of a response with the range that is requested, and returns that range.
    @discardableResult
    func sendPartHead(_ attempt: ScriptedAttempt, tag: String = "\"a\"") throws -> Range<Int> {
        let range = try #require(requestedRange(attempt))
        attempt.connect()
        attempt.receiveHead(
            status: 206,
            headers: [
                .eTag: tag, .contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.count)",
            ])
        return range
    }

    /// Sends the range that is requested.
    func sendPart(_ attempt: ScriptedAttempt) throws {
        let range = try sendPartHead(attempt)
        attempt.receiveBody(content[range])
        attempt.end()
    }

    /// Sends a response without a body.
    func sendStatus(_ status: Int, _ attempt: ScriptedAttempt) {
        attempt.connect()
        attempt.receiveHead(status: status)
        attempt.end()
    }

    /// Returns the range that an attempt requests; `nil` if it requests the complete file.
    func requestedRange(_ attempt: ScriptedAttempt) -> Range<Int>? {
        guard let ends = attempt.request.request.headers[.range]?.dropFirst("bytes=".count).split(separator: "-"),
            let start = ends.first.flatMap({ Int($0) })
        else { return nil }
        return start..<(ends.dropFirst().first.flatMap { Int($0) }.map { $0 + 1 } ?? content.count)
    }

    /// Sends bytes of the file, and waits until the download has written them.
    func receive(_ range: Range<Int>, _ attempt: ScriptedAttempt, _ download: DownloadRequest) async throws {
        let before = download.currentProgress.completedBytes
        attempt.receiveBody(content[range])
        try await wait { download.currentProgress.completedBytes >= before + Int64(range.count) }
    }

    // MARK: Waiting

    /// Waits until a condition holds.
    func wait(until condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Advances the clock in steps until a condition holds.
    func advance(inSteps step: Duration = .milliseconds(10), until condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            clock.move(by: step)
            await session.settle()
        }
    }

    /// Advances the clock towards the next timer until a condition holds. While the engines have none, for example because a task has not
    /// begun its wait yet, the clock stands still.
    ///
    /// A step is short against the limit on connecting, whose timer stays until the engine has handled the end of its attempt.
    func advanceByTimers(until condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await session.settle()
            if let time = await session.timekeeper.timeToNextTimer, time > .zero {
                clock.move(by: min(time, .seconds(1)))
            }
        }
    }

    /// Advances the clock until an attempt after the first `count` starts, and returns the next attempt.
    func nextAttempt(after count: Int) async throws -> ScriptedAttempt {
        try await advance { transport.attempts.count > count }
        return try await transport.nextAttempt()
    }

    /// Answers all attempts after the first `count` with the bytes that they request, until the download has ended.
    func serve(_ download: DownloadRequest, after count: Int) async throws {
        var served = count
        while !download.state.isFinished {
            try await advance { transport.attempts.count > served || download.state.isFinished }
            for attempt in transport.attempts[served...] {
                if requestedRange(attempt) == nil { sendFile(attempt) } else { try sendPart(attempt) }
                served += 1
            }
        }
    }
}
