import TerminalKit
import Trellis

/// The mode of `--output`, in which each body becomes a file. A file is complete, or it does not exist.
extension Client {
    /// The largest number of files that are downloaded at the same time.
    private static let maximumConcurrency = 8

    /// Downloads to files, shows the progress, and reports the resume data of each incomplete download. Returns the exit status: that of
    /// the first failure, if any.
    func download() async -> CInt {
        let start = ContinuousClock.now
        do {
            let steps = try await options.makeSteps()
            let session = Session(configuration: try sessionConfiguration(steps))
            let downloads = try options.urls.map { try makeDownload($0, session) }
            return await withTaskCancellationHandler {
                // A cancelled download still reports its resume data, so the loop over the downloads is not cancelled.
                await Task { await follow(downloads, session, steps, since: start) }.value
            } onCancel: {
                for download in downloads { download.cancel() }
            }
        } catch {
            return await fail(error, after: .now - start)
        }
    }

    private func makeDownload(_ url: String, _ session: Session) throws -> DownloadRequest {
        let destination: DownloadDestination =
            if let folder = options.outputFolder { .directory(folder, .createIntermediateDirectories) } else {
                .file(
                    options.places.output ?? "",
                    options.places.createDirs
                        ? [.removePreviousFile, .createIntermediateDirectories] : .removePreviousFile)
            }
        let download = session.downloadRequest(
            try options.makeRequest(url), to: destination, checksum: options.places.checksum?.checksum,
            options: options.downloadOptions)
        if options.places.timeCondition != nil {
            // The file stays as it is.
            _ = download.validate { _, response, _ in
                if response.status == .notModified { throw NothingNew(response: response) }
            }
        }
        if options.places.validatesAnswer { return download.validate() }
        // A file that was named gets any body, and nobody expects the page of an error among files that servers name.
        let refusesErrors = options.places.fail || options.outputFolder != nil
        return download.validate(statusCode: 100..<(refusesErrors ? 400 : 1000))
    }

    /// Waits for the files, and shows their progress. Returns the exit status.
    private func follow(
        _ downloads: [DownloadRequest], _ session: Session, _ steps: Steps, since start: ContinuousClock.Instant
    ) async -> CInt {
        let board = ProgressBoard()
        // The batch is created before anything that reads the progress, so that each download starts in its turn.
        let batch = session.downloads(of: downloads, maximumConcurrency: Self.maximumConcurrency)
        return await withTaskGroup { group in
            for (index, download) in downloads.enumerated() {
                guard !options.tools.silent else { continue }
                let display = DownloadDisplay(index, options.title(index), on: board)
                group.addTask { await display.show(download.progress) }
            }
            var (status, missing, isEnding) = (ExitStatus.done, downloads.count, false)
            for await outcome in batch {
                await board.end(outcome.index, bytes: (try? outcome.result.get())?.size)
                missing -= 1
                if missing == 0 { await finishRecording(session) }
                // The last outcome also reports a failure to keep the cookies, hosts, services and exchanges of all downloads.
                let unkept = missing == 0 ? await keepFiles(of: steps) : nil
                let own = await tell(of: outcome, unkept, after: .now - start, isEnding: isEnding, on: board)
                if status == ExitStatus.done { status = own }
                if own != ExitStatus.done, options.places.failEarly, !isEnding {
                    isEnding = true
                    for download in downloads { download.cancel() }
                }
            }
            try? await dumpHeads()
            return status
        }
    }

    /// Reports the outcome of a download. Returns the exit status.
    ///
    /// - Parameter isEnding: Whether the download was cancelled after the failure of another one, which is no failure to complain about.
    private func tell(
        of download: DownloadOutcome, _ jar: RequestFailure?, after elapsed: Duration, isEnding: Bool,
        on board: ProgressBoard
    ) async -> CInt {
        let url = options.urls[download.index]
        var outcome = Outcome(url: url)
        var report = options.places.report == nil ? nil : ReportOutput(hasItems: false)
        var (kept, path): (ResumeData?, String?) = (nil, nil)
        switch download.result {
        case .success(let file):
            outcome.take(file.response)
            outcome.bodySize = file.size
            path = file.path
            outcome.take(file.metrics)
            if options.places.failWithBody, file.response.status.code >= 400 {
                outcome.fail(options.refusal(of: file.response), after: elapsed)
            }
            report?.save(file.size, of: file.path)
            if options.places.remoteTime, let reason = RemoteTime.set(file.path, from: file.response) {
                await board.say("trellis: the time of \(TerminalText.shown(file.path)) cannot be set: \(reason)")
            }
        case .failure(let unchanged as NothingNew): outcome.take(unchanged.response)
        case .failure(let error):
            kept = download.download.resumeData
            if let head = try? await download.download.response { outcome.take(head) }
            outcome.fail(RequestFailure(error), after: elapsed)
            if let kept { report?.save(kept.receivedBytes, of: nil) }
        }
        if outcome.failure == nil, let jar { outcome.fail(jar, after: elapsed) }
        try? await report?.end(outcome)
        if let certificates = certificates(of: outcome) { await board.say(certificates) }
        let title = options.urls.count > 1 ? "\(options.title(download.index)): " : ""
        if let remark = remark(on: outcome, title: title) { await board.say(remark) }
        await writeOut(outcome, size: outcome.bodySize, path: path)
        guard let failure = outcome.failure else {
            if let path, options.places.report == nil { await tellPlace(path, of: outcome, on: board) }
            return ExitStatus.done
        }
        guard !options.isSilent else { return failure.exitStatus }
        if !isEnding || failure.kind != "cancelled" {
            await board.say(complaint(failure, about: url, title: title))
        }
        if let kept { await board.say("trellis: \(title)\(Self.explanation(kept))") }
        return failure.exitStatus
    }

    /// Says on a terminal where a file is, and what came.
    private func tellPlace(_ path: String, of outcome: Outcome, on board: ProgressBoard) async {
        guard Terminal.error.isTerminal, !options.tools.silent, let response = outcome.response else { return }
        var words = "\(TerminalText.shown(path))  \(outcome.bodySize.inBytes)  \(response.status.code)"
        if outcome.metrics.total > .zero { words += "  \(outcome.metrics.total.forPeople)" }
        await board.say(words)
    }

    /// Returns a sentence on how to resume the download.
    private static func explanation(_ kept: ResumeData) -> String {
        let total = kept.totalBytes.map { " of \($0.inBytes)" } ?? ""
        let there = "\(kept.receivedBytes.inBytes)\(total)"
        return "\(there) are kept: the same command with --resume goes on from there, if the server lets it"
    }
}

/// The server says that nothing has changed since the date of `-z`.
private struct NothingNew: Error {
    let response: Response
}

extension Options {
    /// The options of each download.
    var downloadOptions: DownloadOptions {
        var download = DownloadOptions()
        download.resumesPartialFile = places.resume
        download.connections = places.connections
        download.maximumInterruptions = limits.retries
        return download
    }

    /// Returns the title of a download: the last component of its path, or of its URL.
    func title(_ index: Int) -> String {
        let path = outputFolder == nil ? places.output ?? "" : String(urls[index][...].before("?#"))
        return path[...].lastPathComponent ?? path
    }
}
