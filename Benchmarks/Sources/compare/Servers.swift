import Foundation
import Glibc

/// The servers of the comparison: nginx, the test server, and the nginx of many origins. They end with this object.
final class Servers {
    /// The path of the large body, which is also the file that is uploaded over HTTP/1.1.
    let largeFile: String
    /// The path of the large body of HTTP/2, which is also uploaded.
    let streamedFile: String
    /// The size of that body in bytes, and that of the bodies of several readers.
    static let streamedSize = 256 << 20, readSize = 8 << 20
    /// The number of loopback addresses with TLS.
    static let tlsAddresses = 100
    private let folder: String
    private let effort: Effort
    private let nginxPort, tlsPort: UInt16
    private let testServerPort: UInt16
    private let nginx, testServer: ChildProcess
    private let supervisor: [String]
    /// The server of the present benchmark's origins; `nil` if the benchmark has a single origin.
    private var originServer: OriginServer?

    /// Starts both servers and waits until they listen.
    ///
    /// - Parameter texts: The bodies of text that the benchmarks request.
    init(_ options: Options, _ effort: Effort, texts: Set<TextBody>) throws {
        folder = options.temporaryFolder
        self.effort = effort
        supervisor = ["\(options.programs)/supervise"]
        let supervisor = supervisor
        let errors = "\(folder)/preparation.err"
        func run(_ command: [String]) throws {
            let outcome = try ChildProcess(command, supervisor: supervisor, errorsPath: errors).wait()
            guard outcome.status == 0 else { throw Failure("\(command[0]) failed: \(outcome.errors)") }
        }
        try Certificates.make(in: folder, addresses: Self.tlsAddresses, run: run)
        largeFile = "\(folder)/www/large"
        streamedFile = "\(folder)/www/streamed"
        try FileManager.default.createDirectory(atPath: "\(folder)/www", withIntermediateDirectories: true)
        try makeSparseFile(largeFile, size: effort.largeBodySize)
        try makeSparseFile(streamedFile, size: Self.streamedSize)
        try makeSparseFile("\(folder)/www/read", size: Self.readSize)
        try makeSparseFile("\(folder)/www/middle", size: 1_000_000)
        try makeSparseFile("\(folder)/www/fresh-file", size: 4096)
        for text in texts { try text.write(to: "\(folder)/www/\(text.rawValue)", size: effort.textBodySize) }
        // The file is read once, so that no client is the first to read it.
        try run(["dd", "if=\(largeFile)", "of=/dev/null", "bs=1M", "status=none"])

        testServer = try ChildProcess(
            ["\(options.programs)/server", "--delay-ms", "2000"], supervisor: supervisor,
            errorsPath: "\(folder)/server.err")
        guard let port = UInt16(testServer.firstLine()) else {
            throw Failure("the test server does not start: \((try? readFile("\(folder)/server.err")) ?? "")")
        }
        testServerPort = port
        nginxPort = try Ports.free()
        tlsPort = try Ports.free()
        let configuration = NginxConfiguration.single(
            folder: folder, port: nginxPort, tlsPort: tlsPort, testServerPort: testServerPort,
            tlsAddresses: Self.tlsAddresses)
        try writeFile(configuration.text, to: "\(folder)/nginx.conf")
        nginx = try ChildProcess(
            ["nginx", "-p", folder, "-c", "\(folder)/nginx.conf", "-e", "stderr"], supervisor: supervisor,
            errorsPath: "\(folder)/nginx.err")
        while !(Ports.answers(nginxPort) && Ports.answers(tlsPort)) {
            guard nginx.isRunning else {
                throw Failure("nginx does not start: \((try? readFile("\(folder)/nginx.err")) ?? "")")
            }
            usleep(5_000)
        }
    }

    /// Starts the server of the benchmark's origins, if it has several. The previous one ends.
    func prepare(for benchmark: Benchmark) throws {
        originServer = nil
        if case .fleet = benchmark.target {
            originServer = try OriginServer(
                folder: folder, origins: benchmark.origins, workers: 1, supervisor: supervisor,
                testServerPort: testServerPort)
        }
        guard case .origins = benchmark.target else { return }
        let workers = max(Machine().cores - (benchmark.engines ?? Int.max), 1)
        originServer = try OriginServer(
            folder: folder, origins: benchmark.origins, workers: workers, supervisor: supervisor)
    }

    /// The CPU time of the present benchmark's origins so far, in seconds; `nil` if the benchmark has a single origin.
    var originCPUSeconds: Double? { originServer?.cpuSeconds }

    /// Returns the options with the address of a benchmark's server.
    func arguments(for benchmark: Benchmark) -> [String] {
        switch benchmark.target {
        case .nginx, .origins, .fleet: ["--url", url(of: benchmark)]
        case .nginxTLS:
            [
                "--url", url(of: benchmark), "--ca-file", Certificates.authority(in: folder),
                "--control-port", "\(testServerPort)",
            ]
        case .testServer: ["--url", url(of: benchmark), "--control-port", "\(testServerPort)"]
        }
    }

    /// Returns the URL that a benchmark requests.
    func url(of benchmark: Benchmark) -> String {
        switch benchmark.target {
        case .nginx(let path): "http://127.0.0.1:\(nginxPort)\(path)"
        case .nginxTLS(let path): "https://127.0.0.1:\(tlsPort)\(path)"
        case .origins(let path), .fleet(let path): "http://127.0.0.1:\(originServer?.port ?? 0)\(path)"
        case .testServer(let path):
            "http://127.0.0.1:\(testServerPort)\(path)"
                + (path.hasSuffix("/") ? "\(effort.bodySize(of: benchmark))" : "")
        }
    }
}
