import ArgumentParser
import Glibc
import TerminalKit

/// The `trellis` program: a subcommand, or one request, its response on standard output, messages about it on standard error.
@main
enum Main {
    static func main() async {
        openStandardDescriptors()
        // If the reader of the output ends (`| head`), the write fails instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        if let status = await Subcommands.run(Array(CommandLine.arguments.dropFirst())) {
            fflush(nil)
            _exit(status)
        }
        var options = Options.parseOrEnd(Array(CommandLine.arguments.dropFirst()))
        options.askForPassword()
        options.redirectMessages()
        let interruption = Interruption()
        let work = Task { [options] in
            let client = Client(options)
            let status = await client.run()
            client.warnOfLosses()
            if options.credentials.cookieJar == "-" { await ShownJar.print() }
            return status
        }
        interruption.whenItHappens { work.cancel() }
        if let delay = options.limits.cancelAfter {
            Task {
                try await Task.sleep(for: .seconds(delay))
                work.cancel()
            }
        }
        let status = await work.value
        // Without exit handlers: OpenSSL's would run while the thread of an engine may still close a connection.
        fflush(nil)
        _exit(interruption.hasHappened ? ExitStatus.interrupted : status)
    }
}

/// Opens `/dev/null` for each standard descriptor that the parent has closed. Otherwise the first files and sockets would get their
/// numbers, and messages would go there.
private func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
        // The system gives the lowest number that is free.
        _ = open("/dev/null", descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY)
    }
}

/// The exit statuses. A usage error is 64, which the argument parser returns.
enum ExitStatus {
    static let done: CInt = 0
    static let failed: CInt = 1
    static let interrupted: CInt = 130
}
