import Glibc
import TerminalKit
import Trellis

/// `--output`: the body goes to a file, whole or not at all.
extension Client {
    /// Downloads to a file, says how far it is, and what is left if it did not come to its end. Whether it did.
    func download(to path: String) async -> Bool {
        let start = ContinuousClock.now
        var outcome = Outcome(url: options.url)
        var report = options.report == nil ? nil : ReportOutput(hasItems: false)
        var kept: ResumeData?
        do {
            var configuration = options.sessionConfiguration
            configuration.steps = try options.makeSteps()
            let download = Session(configuration: configuration).download(
                try options.makeRequest(), to: .file(path, .removePreviousFile), checksum: options.checksum?.checksum,
                options: options.downloadOptions)
            // Any status is an answer, unless --validate is given.
            if !options.validatesAnswer { download.validate(statusCode: 100..<1000) }
            do {
                let file = try await watch(download)
                outcome.take(file.response)
                outcome.take(file.metrics)
                report?.save(file.size, of: file.path)
                try await configuration.steps.keepCookies()
            } catch {
                kept = download.resumeData
                if let head = try? await download.response { outcome.take(head) }
                throw error
            }
        } catch {
            outcome.fail(RequestFailure(error), after: .now - start)
            if let kept { report?.save(kept.receivedBytes, of: nil) }
        }
        try? await report?.end(outcome)
        guard let failure = outcome.failure else { return true }
        complain(failure)
        if let kept { explain(kept) }
        return false
    }

    /// Waits for the file, and shows how far it is.
    private func watch(_ download: DownloadRequest) async throws -> DownloadedFile {
        let showing = Task { [title = options.output ?? ""] in
            var display = DownloadDisplay(title)
            for await progress in download.progress { display.show(progress) }
            return display
        }
        let result: Result<DownloadedFile, any Error>
        do { result = .success(try await download.value) } catch { result = .failure(error) }
        var display = await showing.value
        display.end(isWhole: (try? result.get()) != nil)
        return try result.get()
    }

    /// How to go on.
    private func explain(_ kept: ResumeData) {
        let total = kept.totalBytes.map { " of \($0.inBytes)" } ?? ""
        Terminal.error.print(
            "trellis: \(kept.receivedBytes.inBytes)\(total) are kept: the same command with --resume goes on from there"
        )
    }

    /// Whether a path leads to something that is written to rather than replaced: a device, a pipe.
    static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Makes a device or a pipe the standard output.
    static func redirectOutput(to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0, dup2(descriptor, STDOUT_FILENO) >= 0 else {
            throw RequestFailure("file", "\(path): \(systemError())")
        }
        close(descriptor)
    }
}

extension Options {
    /// How a download is done.
    var downloadOptions: DownloadOptions {
        var download = DownloadOptions()
        download.resumesPartialFile = resume
        download.connections = connections
        return download
    }
}
