import Glibc
import TrellisTesting

/// The `fixture-server [SOCKET | @NAME | ::1]` program: listens on a free port, on that socket, on an abstract socket of that name, or on a
/// free port of IPv6; prints its URL, and serves until its standard input ends.
@main
enum Main {
    static func main() throws {
        let server = try LoopbackServer.http(on: address(CommandLine.arguments.dropFirst().first), Routes.answer)
        print(server.url(""))
        fflush(nil)
        while getchar() != EOF {}
        server.stop()
    }

    private static func address(_ argument: String?) -> LoopbackServer.Address {
        switch argument {
        case nil: .ipv4
        case "::1"?: .ipv6
        case let name? where name.hasPrefix("@"): .abstract(name: String(name.dropFirst()))
        case let path?: .unix(path: path)
        }
    }
}
