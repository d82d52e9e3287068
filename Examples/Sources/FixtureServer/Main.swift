import Glibc
import TrellisTesting

/// The `fixture-server [SOCKET]` program: listens on a free port, or on that socket, prints its URL, and serves until its
/// standard input ends.
@main
enum Main {
    static func main() throws {
        let address = CommandLine.arguments.dropFirst().first.map { LoopbackServer.Address.unix(path: $0) } ?? .ipv4
        let server = try LoopbackServer.http(on: address, Routes.answer)
        print(server.url(""))
        fflush(nil)
        while getchar() != EOF {}
        server.stop()
    }
}
