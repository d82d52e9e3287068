import CURLSyntax
import Glibc
import TerminalKit
import Trellis

/// The heads of responses for `--dump-header`, and the failure of `--fail-with-body`.
extension Client {
    /// Writes the heads that came since the last time to the place of `--dump-header`.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be written.
    func dumpHeads() async throws {
        guard let path = options.places.dumpHeader, let heads = await wire?.takeHeads(), !heads.isEmpty else {
            return
        }
        guard path != "-" else { return try await StandardOutput.write(heads) }
        try await offThePool {
            // The file is emptied when the options are read.
            let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw RequestFailure("file", "\(path): \(systemError())") }
            defer { close(descriptor) }
            var rest = Array(heads.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { throw RequestFailure("file", "\(path): \(systemError())") }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Returns the reason why the file of `--dump-header` cannot be written; `nil` if there is none. The file is emptied.
    func emptyHeads() -> RequestFailure? {
        guard let path = options.places.dumpHeader, path != "-" else { return nil }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { return RequestFailure("file", "\(path): \(systemError())") }
        close(descriptor)
        return nil
    }
}

/// The file of `--cookie-jar -`, which is printed at the end.
enum ShownJar {
    /// A new folder, which nobody else can read; `nil` if there is no place for one.
    private static let folder: String? = {
        let place = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        var name = Array("\(place.isEmpty ? "/tmp" : place)/trellis-XXXXXX".utf8CString)
        return mkdtemp(&name).map { String(cString: $0) }
    }()

    /// The path of the file; `nil` if there is no place for it.
    static let path = folder.map { "\($0)/cookies" }

    /// Prints the cookies, and removes the file.
    static func print() async {
        guard let folder, let path else { return }
        if let text = try? FormText.contents(of: path) { try? await StandardOutput.write(text) }
        for name in [path, "\(path).lock", "\(path).new"] { unlink(name) }
        rmdir(folder)
    }
}

extension Options {
    /// Returns the failure of a response whose body was printed or written, for `--fail-with-body`.
    func refusal(of response: Response) -> RequestFailure {
        RequestFailure("unacceptable_status", "the status of the response is \(response.status.code)")
    }

    /// Sends messages to the place of `--stderr`. Without the option, or if the file cannot be written, nothing changes.
    func redirectMessages() {
        guard let path = tools.stderr else { return }
        guard path != "-" else { return _ = dup2(STDOUT_FILENO, STDERR_FILENO) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            // The first use of the terminal asks the system too.
            let reason = systemError()
            return Terminal.error.print("trellis: \(path): \(reason)")
        }
        dup2(descriptor, STDERR_FILENO)
        close(descriptor)
    }

    /// Asks for the password of `--user` if there is none and somebody is there to answer. Ctrl-C ends the process.
    mutating func askForPassword() {
        guard let name = credentials.user, credentials.auth != .bearer, name[...].cut(at: ":") == nil,
            isatty(STDERR_FILENO) == 1,
            !tools.printsCURLCommand
        else { return }
        switch Password.ask("Password of \(TerminalText.shown(name)): ") {
        case .typed(let password): credentials.user = "\(name):\(password)"
        case .interrupted: _exit(ExitStatus.interrupted)
        case .none: break
        }
    }
}
