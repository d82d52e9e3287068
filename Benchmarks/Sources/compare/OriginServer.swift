import Foundation
import Glibc

/// The nginx that serves many origins, which are loopback addresses with the same port. It ends with this object.
///
/// Each worker is a process without a master process, so that it ends with its supervisor. The kernel distributes the connections.
final class OriginServer {
    let port: UInt16
    /// The processes of the workers, with their identifiers.
    private var workers: [(process: ChildProcess, identifier: String)] = []

    /// Starts the workers and waits until all of them listen.
    ///
    /// - Parameter testServerPort: The port of the server of late responses, if some of the addresses fail or are late.
    init(
        folder: String, origins: Int, workers count: Int, supervisor: [String], testServerPort: UInt16? = nil
    ) throws {
        port = try Ports.free()
        for number in 0..<count {
            let configuration =
                testServerPort.map {
                    NginxConfiguration.fleet(
                        folder: folder, name: "fleet", port: port, addresses: origins, testServerPort: $0)
                }
                ?? NginxConfiguration.origins(
                    folder: folder, name: "origins-\(number)", port: port, addresses: origins)
            let file = "\(folder)/\(configuration.name).conf", errors = "\(folder)/\(configuration.name).err"
            unlink(configuration.processFile)
            try writeFile(configuration.text, to: file)
            let nginx = try ChildProcess(
                ["nginx", "-p", folder, "-c", file, "-e", "stderr"], supervisor: supervisor, errorsPath: errors)
            // nginx writes its process identifier when it listens on all addresses.
            var identifier: String?
            while identifier == nil {
                guard nginx.isRunning else { throw Failure("nginx does not start: \((try? readFile(errors)) ?? "")") }
                usleep(5_000)
                identifier = (try? readFile(configuration.processFile)).flatMap { text in
                    text.hasSuffix("\n") ? String(text.dropLast()) : nil
                }
            }
            workers.append((nginx, identifier ?? ""))
        }
    }

    /// The CPU time of all workers so far, in seconds.
    var cpuSeconds: Double {
        let ticks = workers.reduce(0) { sum, worker in
            guard let status = try? readFile("/proc/\(worker.identifier)/stat"), let end = status.lastIndex(of: ")")
            else { return sum }
            // The fields after the name begin with the third; the 14th and 15th are the user's and the system's time.
            let fields = status[end...].split(separator: " ").dropFirst()
            return sum + fields.dropFirst(11).prefix(2).reduce(0) { $0 + (Int($1) ?? 0) }
        }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
