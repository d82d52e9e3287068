import ArgumentParser
import Glibc
import TerminalKit

/// The `trellis` program: a subcommand, or one request, its response on standard output, messages about it on standard error.
@main
enum Main {
    static func main() async {
        // If the reader of the output ends (`| head`), the write fails instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        if let status = await Subcommands.run(Array(CommandLine.arguments.dropFirst())) {
            fflush(nil)
            _exit(status)
        }
        let options = Options.parseOrEnd()
        let interruption = Interruption()
        let work = Task {
            let client = Client(options)
            let isDone = await client.run()
            client.warnOfLosses()
            return isDone
        }
        interruption.whenItHappens { work.cancel() }
        if let delay = options.cancelAfter {
            Task {
                try await Task.sleep(for: .seconds(delay))
                work.cancel()
            }
        }
        let isDone = await work.value
        // Without exit handlers: those of OpenSSL would run while the thread of an engine may still close a connection.
        fflush(nil)
        _exit(interruption.hasHappened ? ExitStatus.interrupted : isDone ? ExitStatus.done : ExitStatus.failed)
    }
}

/// The exit statuses. A usage error is 64, which the argument parser returns.
enum ExitStatus {
    static let done: CInt = 0
    static let failed: CInt = 1
    static let interrupted: CInt = 130
}
