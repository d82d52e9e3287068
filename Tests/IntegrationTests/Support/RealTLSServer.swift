import Foundation
import Glibc
import Testing
import Trellis

/// nginx and `openssl s_server`, with certificates that `openssl` makes for them (``RealTrustCertificates``), in a folder of their own.
final class RealTLSServer: Sendable {
    /// The servers, which several suites share.
    static let started = Task { try await start() }

    /// The folder of the certificates and logs.
    private let folder: String
    private let ports: [String: Int]
    /// The shell that has started the servers, and ends them when its input ends.
    private let shell: PythonProcess

    private init(_ folder: String, _ ports: [String: Int], _ shell: PythonProcess) {
        self.folder = folder
        self.ports = ports
        self.shell = shell
    }

    private static func start() async throws -> RealTLSServer {
        try FileManager.default.removeItem(atPath: temporaryFolder("real-trust"))
        let folder = try temporaryFolder("real-trust")
        // Python finds free ports, and becomes the shell, which keeps them reserved until nginx uses them.
        let shell = try PythonProcess([
            "-c",
            """
            import os, sys
            sys.path.insert(0, "\(Peer.folder)")
            import real_servers
            print(*[real_servers.free_port() for _ in range(\(RealTrustNginx.ports.count))])
            for mark in real_servers.MARKS: mark.set_inheritable(True)
            os.execvp("sh", ["sh"])
            """,
        ])
        let numbers = try await shell.nextLine().split(separator: " ").compactMap { Int($0) }
        let ports = Dictionary(uniqueKeysWithValues: zip(RealTrustNginx.ports, numbers))
        let files = [
            "certificates.sh": RealTrustCertificates.script, "functions.sh": processes + functions, "page": "real",
            "nginx.conf": RealTrustNginx.configuration(ports, isRoot: geteuid() == 0),
        ]
        for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        let answer = try await shell.ask(
            "cd '\(folder)'; passphrase='\(RealTrustCertificates.passphrase)'; . ./functions.sh; begin")
        try #require(answer == "begun", "\(answer)")
        return RealTLSServer(folder, ports, shell)
    }

    /// The functions of a shell that starts servers, whose numbers are in `servers`, and ends them when its input ends.
    static let processes = """
        servers=
        # A server that has ended by itself is no child any more, and another process may have its number.
        end() {
            for each in $servers; do
                [ "$(awk '/^PPid:/ { print $2 }' /proc/$each/status 2>/dev/null)" = $$ ] && kill $each
            done
        }
        trap end EXIT
        trap : INT
        reached() {
            for count in $(seq 6000); do
                grep -qs "$1" $2 && return
                sleep 0.01
            done
        }

        """

    /// The functions of the shell. Each prints one line.
    private static let functions = """
        begin() {
            passphrase=$passphrase sh certificates.sh >certificates.log 2>&1 </dev/null
            if [ "$(tail -n 1 certificates.log)" != made ]; then
                echo "$(tail -n 1 certificates.log)"
                return
            fi
            nginx -p "$PWD" -c nginx.conf -e error.log >nginx.log 2>&1 </dev/null &
            servers="$servers $!"
            reached . nginx.pid
            [ -s nginx.pid ] && echo begun || echo "$(tail -n 1 nginx.log)"
        }
        serve() {
            log=$1.log
            shift
            openssl s_server -accept 127.0.0.1:0 -WWW "$@" >$log 2>&1 </dev/null &
            servers="$servers $!"
            reached ^ACCEPT $log
            echo "$(sed -n 's/^ACCEPT.*://p' $log)"
        }
        finished() {
            reached 'accepts that finished' $1.log
            echo "$(awk '/server accepts that finished/ { print $1 }' $1.log) $(grep -c ^FILE: $1.log)"
        }

        """

    // MARK: Files

    /// Returns the path of a file in the folder.
    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Returns the pin of a certificate's key.
    func pin(_ name: String) throws -> String {
        let text = try String(contentsOfFile: path("\(name).pin"), encoding: .utf8)
        return "sha256/" + text.filter { !$0.isWhitespace }
    }

    /// Copies a file to another path at once, so that no reader sees a part of it.
    func copy(_ name: String, to path: String) throws {
        try Data(contentsOf: URL(filePath: self.path(name))).write(to: URL(filePath: path), options: .atomic)
    }

    // MARK: Sessions

    /// The rules of a session that trusts the certificates of `root`.
    var tls: TLSConfiguration { TLSConfiguration(authorities: .only([.file(path("root.pem"))])) }

    /// Returns a session whose connections to any host are made to a port of nginx.
    func session(
        _ port: String = "nginx", _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) throws -> Session {
        let number = try #require(ports[port])
        return try session(port: number, change)
    }

    /// Returns a session whose connections to any host are made to a port. It has one engine, and so one connection for requests one after
    /// another.
    func session(port: Int, _ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        configuration.tls = tls
        configuration.route.connectTo = [try ConnectTo(targetHost: "127.0.0.1", targetPort: port)]
        try change(&configuration)
        return Session(configuration: configuration)
    }

    // MARK: Servers

    /// The hosts and targets of the requests that nginx has received, up to the one for a target, which is waited for.
    func requests(upTo target: String) async throws -> [String] {
        while true {
            let text = try String(contentsOfFile: path("access.log"), encoding: .utf8)
            if text.contains(" \(target)\n") { return text.split(separator: "\n").map(String.init) }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// A run of `openssl s_server` that ends with its last connection. `/page` is the text `real`.
    struct Server: Sendable {
        let port: Int
        fileprivate let name: String
    }

    /// The end of a run of `openssl s_server`.
    struct End: Equatable, Sendable {
        /// The number of completed handshakes.
        let handshakes: Int
        /// The number of requests.
        let requests: Int
    }

    /// Starts `openssl s_server`.
    ///
    /// - Parameters:
    ///   - certificate: The name of the certificate and its chain.
    ///   - options: More options, which name files in the folder.
    ///   - connections: The number of connections with which the run ends.
    func serve(_ certificate: String, _ options: String = "", connections: Int = 1) async throws -> Server {
        let name = "server-\(UUID().uuidString)"
        let words = "-cert \(certificate).pem -key \(certificate).key -cert_chain \(certificate).chain"
        let answer = try await shell.ask("serve \(name) -naccept \(connections) \(words) \(options)")
        let port = try #require(Int(answer), "\(words) \(options)")
        return Server(port: port, name: name)
    }

    /// Returns the end of a run, which is waited for.
    func end(of server: Server) async throws -> End {
        let answer = try await shell.ask("finished \(server.name)")
        let numbers = answer.split(separator: " ").compactMap { Int($0) }
        try #require(numbers.count == 2, "\(answer)")
        return End(handshakes: numbers[0], requests: numbers[1])
    }
}
