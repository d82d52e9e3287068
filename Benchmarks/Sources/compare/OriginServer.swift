import Foundation
import Glibc

/// The nginx that serves many origins, which are loopback addresses with the same port. It ends with this object.
final class OriginServer {
    let port: UInt16
    private let nginx: ChildProcess

    /// Starts the server and waits until it listens.
    init(folder: String, origins: Int, supervisor: [String]) throws {
        port = try Ports.free()
        let configuration = NginxConfiguration.origins(folder: folder, port: port, addresses: origins)
        let file = "\(folder)/\(configuration.name).conf", errors = "\(folder)/\(configuration.name).err"
        unlink(configuration.processFile)
        try writeFile(configuration.text, to: file)
        nginx = try ChildProcess(
            ["nginx", "-p", folder, "-c", file, "-e", "stderr"], supervisor: supervisor, errorsPath: errors)
        // nginx writes its process identifier when it listens on all addresses.
        while (try? readFile(configuration.processFile).hasSuffix("\n")) != true {
            guard nginx.isRunning else { throw Failure("nginx does not start: \((try? readFile(errors)) ?? "")") }
            usleep(5_000)
        }
    }
}
