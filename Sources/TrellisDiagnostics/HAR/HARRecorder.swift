import CurlEngine
import FoundationEssentials
public import TrellisCore

/// A recorder of exchanges in HAR 1.2, which the network panels of browsers open. Each request on the wire has an entry, redirects and
/// retries included.
///
/// ```swift
/// let recorder = HARRecorder(file: "run.har", bodyLimit: 1 << 20)
/// configuration.record(into: recorder)
/// …
/// await session.shutdown()
/// try await recorder.finish()
/// ```
///
/// Without a file, the last entries are in memory (``document``). A file is a complete document after each entry, also if the process ends
/// without ``finish()``. If the machine fails during a write, cut the file after its last complete line and append `]}}`. Entries are in
/// the order of their ends.
///
/// Secrets are `REDACTED` unless you ask for them: in URLs, fields, cookies, forms, and under secret names in JSON (numbers there are 0).
/// Other text in bodies is written as it is, without content codings. A new file can be read by its user alone.
///
/// Fields that are added on the wire are missing: `Host`, `Accept-Encoding`, the default `Accept`, and a body's framing. So are exchanges
/// whose events were lost (``droppedEventCount``).
public final class HARRecorder: EventMonitor {
    /// The entries that are kept in memory.
    private struct Kept: Sendable {
        var entries: [HARDocument.Entry] = []
        /// The number of entries in front that no longer count.
        var first = 0
        var dropped = 0
    }

    /// The number of bytes of each body that are recorded; 0 if bodies are not recorded.
    public let bodyLimit: Int
    /// Whether secrets are recorded.
    public let revealsSecrets: Bool
    /// The number of entries that are kept in memory, if there is no file.
    public let maximumEntries: Int
    private let assembly = Locked(HARAssembly())
    private let kept = Locked(Kept())
    /// The file; `nil` if the entries are kept in memory.
    private let file: HARFile?

    /// Creates a recorder that keeps the last entries in memory.
    ///
    /// - Parameters:
    ///   - bodyLimit: The number of bytes of each body that are recorded. The default is 0: no bodies.
    ///   - revealsSecrets: Whether secrets are recorded. The default is `false`.
    ///   - maximumEntries: The number of entries that are kept. The default is 1,000.
    public convenience init(bodyLimit: Int = 0, revealsSecrets: Bool = false, maximumEntries: Int = 1_000) {
        self.init(nil, bodyLimit: bodyLimit, revealsSecrets: revealsSecrets, maximumEntries: maximumEntries)
    }

    /// Creates a recorder that writes to a file. A file at the path is replaced when the first entry is written, or at ``finish()``.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - bodyLimit: The number of bytes of each body that are recorded. The default is 0: no bodies.
    ///   - revealsSecrets: Whether secrets are recorded. The default is `false`.
    public convenience init(file path: some FilePathConvertible, bodyLimit: Int = 0, revealsSecrets: Bool = false) {
        self.init(
            HARFile(path: path.filePath), bodyLimit: bodyLimit, revealsSecrets: revealsSecrets, maximumEntries: 0)
    }

    private init(_ file: HARFile?, bodyLimit: Int, revealsSecrets: Bool, maximumEntries: Int) {
        self.file = file
        self.bodyLimit = max(bodyLimit, 0)
        self.revealsSecrets = revealsSecrets
        self.maximumEntries = max(maximumEntries, 0)
    }

    /// The entries in memory as a document; without entries if the recorder writes to a file. The comment has the ``droppedEventCount``.
    public var document: HARDocument {
        HARDocument(
            entries: kept.withLock { Array($0.entries[$0.first...]) },
            comment: HARDocument.comment(droppedEventCount: droppedEventCount))
    }

    /// The number of entries that were dropped from memory, because there were more than ``maximumEntries``.
    public var droppedEntryCount: Int { kept.withLock { $0.dropped } }

    /// The number of events of all sessions that the recorder has lost, because it was too slow
    /// (``SessionConfiguration/eventBufferSize``). With 0, all exchanges were recorded. The file has the number with the next entry
    /// that is written, and at ``finish()``.
    public var droppedEventCount: Int { assembly.withLock { $0.droppedEventCount } }

    /// Takes an event.
    public func handle(_ event: RequestEvent) async {
        guard add(assembly.withLock({ $0.take(event) })), let file else { return }
        await BlockingThreadPool.run(at: file.folder) { [self] in _ = file.write(droppedEventCount: droppedEventCount) }
    }

    /// Writes what is left: exchanges that have not ended are written as far as they are known. Call this after
    /// ``Session/shutdown(drainingFor:)``, which waits for the monitors of the session.
    ///
    /// - Throws: ``FileFailure`` if the file is not complete.
    public func finish() async throws(FileFailure) {
        _ = add(assembly.withLock { $0.takeAll() })
        guard let file else { return }
        let count = droppedEventCount
        let failure = await BlockingThreadPool.run(at: file.folder) { file.write(droppedEventCount: count) }
        if let failure { throw failure }
    }

    // MARK: Bodies

    /// Begins the hop of a step that captures the body of its response, and returns the number of the capture.
    func beginCapture(callID: UInt64, attempt: Int) -> Int {
        assembly.withLock { $0.beginCapture(callID: callID, attempt: attempt) }
    }

    /// Ends the hop of a step. Does not wait for the disk.
    ///
    /// - Parameter body: The body that was received; `nil` if there is none.
    func endCapture(_ id: Int, callID: UInt64, body: CapturedBody?) {
        let complete = assembly.withLock { $0.endCapture(id, callID: callID, body: body) }
        guard add(complete), let file else { return }
        file.beginWriting { [self] in droppedEventCount }
    }

    // MARK: Entries

    /// Adds exchanges to the file or to the memory. Returns whether there are any.
    private func add(_ complete: [HARExchange]) -> Bool {
        guard !complete.isEmpty else { return false }
        guard let file else {
            // An entry has no more of the bodies than the limit allows, and neither steps nor monitors of its request.
            let entries = complete.map(entry)
            kept.withLock { kept in
                kept.entries += entries
                let surplus = kept.entries.count - kept.first - maximumEntries
                guard surplus > 0 else { return }
                kept.first += surplus
                kept.dropped += surplus
                guard kept.first > maximumEntries else { return }
                kept.entries.removeFirst(kept.first)
                kept.first = 0
            }
            return true
        }
        for exchange in complete {
            file.add { [self] in try HARDocument.encoder.encode(entry(exchange)) }
        }
        return true
    }

    private func entry(_ exchange: HARExchange) -> HARDocument.Entry {
        exchange.entry(bodyLimit: bodyLimit, revealsSecrets: revealsSecrets)
    }
}
