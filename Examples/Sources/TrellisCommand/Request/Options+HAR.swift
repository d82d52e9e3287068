import ArgumentParser
import Glibc
import TerminalKit
import Trellis

/// The options about the recording of exchanges.
struct RecordingOptions: ParsableArguments {
    /// The number of bytes of each body that are recorded.
    private static let bodyLimit = 1 << 20

    @Option(
        help: ArgumentHelp(
            "Record what goes over the wire in this file, with a MiB of each body, in the format of the network panels of browsers "
                + "(HAR 1.2). The file is replaced. Fields of the connection, such as Host, are not in it. Secrets are REDACTED "
                + "unless --show-secrets is given.",
            valueName: "FILE"), completion: .file())
    var har: String?

    func validate() throws {
        guard har != "" else { throw ValidationError("--har needs a file.") }
    }

    /// The reason why the file cannot be made, as far as its folder shows it; `nil` if there is none. It is found before a request is sent.
    var failure: RequestFailure? {
        guard let har, access(har, F_OK) != 0 else { return nil }
        let path = har[...]
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard access(folder, W_OK | X_OK) != 0 else { return nil }
        return RequestFailure("file", "the recording \(har) cannot be written: \(systemError())")
    }

    /// Returns the recorder of the run; `nil` without the option.
    func makeRecorder(revealingSecrets revealsSecrets: Bool) -> HARRecorder? {
        har.map { HARRecorder(file: $0, bodyLimit: Self.bodyLimit, revealsSecrets: revealsSecrets) }
    }
}

extension Client {
    /// Ends a session whose exchanges are recorded or shown, so that nothing of them is missing. Otherwise does nothing.
    func finishRecording(_ session: Session) async {
        if recorder != nil || wire != nil { await session.shutdown() }
    }

    /// Completes the recording. Returns the failure, if there is one.
    func keepRecording() async -> RequestFailure? {
        do throws(FileFailure) {
            try await recorder?.finish()
            return nil
        } catch {
            return RequestFailure("file", "the recording \(error.path) cannot be written: \(error.reason)")
        }
    }

    /// Prints a warning on standard error if the recorder has lost events. Without a recorder, does nothing.
    func warnOfLosses() {
        guard let path = options.recording.har, let count = recorder?.droppedEventCount, count > 0 else { return }
        let events = count == 1 ? "1 event was" : "\(count) events were"
        Terminal.error.print(
            Terminal.error.styled("trellis: ", .magenta) + "the recording \(path) is not complete: \(events) lost")
    }
}
