import Glibc
import TerminalKit
import Trellis
import TrellisTesting

/// The `tour` program, which shows the framework on real traffic in a few seconds. The exit status is 0 if every part worked.
@main
enum Main {
    static func main() async {
        let guide = Guide()
        let parts: [any Part] = [
            DecodedJSON(), CancelledTree(), Backpressure(), InterruptedDownload(), Retry(), StreamedUpload(),
        ]
        do {
            let start = ContinuousClock.now
            let server = try TourServer()
            guide.begin(server: server.url("/"))
            var worked = 0
            for part in parts {
                if await guide.show(part, on: server) { worked += 1 }
            }
            await guide.session.shutdown()
            try await server.loopback.waitUntilAllClosed()
            server.loopback.stop()
            guide.end("\(worked) of \(parts.count) parts worked in \((.now - start).forPeople)", worked == parts.count)
            exit(worked == parts.count ? 0 : 1)
        } catch {
            guide.end("The server of the tour failed: \(error)", false)
            exit(1)
        }
    }
}
