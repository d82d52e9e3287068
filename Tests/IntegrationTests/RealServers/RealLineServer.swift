import Foundation
import Glibc
import Testing
import Trellis

/// nginx without TLS at addresses of both versions of IP and at a Unix domain socket, with relays of socat.
///
/// A response is the address of the client, or `unix:`, and the host of the request. The number of the port is the same for both addresses.
final class RealLineServer: Sendable {
    /// The server, which several suites share.
    static let started = Task { try await start() }

    /// The port at 127.0.0.1 and at ::1.
    let port: Int
    private let folder: String
    /// The shell that has started the server and the relays, and ends them when its input ends.
    private let shell: PythonProcess

    private init(_ folder: String, _ port: Int, _ shell: PythonProcess) {
        self.folder = folder
        self.port = port
        self.shell = shell
    }

    private static func start() async throws -> RealLineServer {
        try FileManager.default.removeItem(atPath: temporaryFolder("real-line"))
        let folder = try temporaryFolder("real-line")
        // Python finds a port that is free at both addresses, and becomes the shell, which keeps the mark of the port for other peers.
        let shell = try PythonProcess([
            "-c",
            """
            import os, socket, sys
            sys.path.insert(0, "\(Peer.folder)")
            import real_servers
            while True:
                port = real_servers.free_port()
                with socket.socket(socket.AF_INET6) as other:
                    try:
                        other.bind(("::1", port))
                    except OSError as error:
                        if error.errno != 98:
                            raise
                        continue
                break
            print(port)
            for mark in real_servers.MARKS:
                mark.set_inheritable(True)
            os.execvp("sh", ["sh"])
            """,
        ])
        let port = try #require(Int(try await shell.nextLine()))
        for (name, text) in [
            ("functions.sh", RealTLSServer.processes + functions), ("nginx.conf", configuration(folder, port)),
        ] {
            try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        let answer = try await shell.ask("cd '\(folder)'; . ./functions.sh; begin")
        try #require(answer == "begun", "\(answer)")
        return RealLineServer(folder, port, shell)
    }

    private static func configuration(_ folder: String, _ port: Int) -> String {
        """
        \(geteuid() == 0 ? "user root;" : "")
        daemon off;
        worker_processes 1;
        pid nginx.pid;
        error_log error.log;
        events {}
        http {
            access_log off;
            \(RealTrustNginx.temporaryFolders)
            server {
                listen 127.0.0.1:\(port);
                listen [::1]:\(port) ipv6only=on;
                listen unix:\(folder)/nginx.sock;
                location / { return 200 "$remote_addr $host"; }
            }
        }

        """
    }

    /// The functions of the shell. Each prints one line.
    private static let functions = """
        begin() {
            nginx -p "$PWD" -c nginx.conf -e error.log >nginx.log 2>&1 </dev/null &
            servers="$servers $!"
            reached . nginx.pid $!
            [ -s nginx.pid ] && echo begun || echo "$(tail -n 1 nginx.log)"
        }
        # The flag of a socket that listens is 00010000. A socket that is bound alone has a path, and refuses connections.
        relay() {
            listening=" 00010000 .*$3"
            if ! grep -qs "$listening" /proc/net/unix; then
                socat "$1,fork" "$2" >>socat.log 2>&1 </dev/null &
                servers="$servers $!"
                reached "$listening" /proc/net/unix $!
            fi
            grep -qs "$listening" /proc/net/unix && echo relayed || echo "$(tail -n 1 socat.log)"
        }

        """

    /// The path of the Unix domain socket of nginx.
    var socketPath: String { "\(folder)/nginx.sock" }

    /// Starts a relay from an abstract socket to that of nginx, and returns the name of the first one.
    func abstractSocket() async throws -> String {
        let name = "trellis-line-\(UUID().uuidString)"
        try await relay("ABSTRACT-LISTEN:\(name)", "UNIX-CONNECT:\(socketPath)", name)
        return name
    }

    /// Starts a relay from a Unix domain socket to a port of this machine, unless there is one, and returns the path of the socket.
    func relayedSocket(before port: Int) async throws -> String {
        let path = "\(folder)/\(port).sock"
        try await relay("UNIX-LISTEN:\(path)", "TCP:127.0.0.1:\(port)", path)
        return path
    }

    private func relay(_ listener: String, _ target: String, _ name: String) async throws {
        let answer = try await shell.ask("relay '\(listener)' '\(target)' '\(name)'")
        try #require(answer == "relayed", "\(answer)")
    }
}
