import Foundation
import Testing

/// Where the tests find programs and the scripts of peers, on this machine and in this checkout.
enum Programs {
    /// The folder of the test executable, where the package's programs are too.
    static let folder: String = {
        let executable = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: executable).deletingLastPathComponent().path
    }()

    /// The client.
    static let trellis = "\(folder)/trellis"

    private static let own = [
        "trellis", "fixture-server", "service-example", "in-process-example", "otlp-exporter", "fetch-list",
    ]

    /// The path of a program: its name if that is one, or its place if the package has it. Another one is to be looked up.
    static func path(of name: String) -> String? {
        if name.contains("/") { return name }
        return own.contains(name) ? "\(folder)/\(name)" : nil
    }

    /// The folder of the checkout.
    static let checkout = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .path

    /// The folder of the scripts in Python that only these tests use.
    static let peers = "\(checkout)/Examples/Tests/Peers"

    /// The folder of the peers that these tests share with those of the framework.
    static let sharedPeers = "\(checkout)/Tests/Peers"

    /// The Python that runs the peers. The first use may install its packages.
    static let python = Task {
        if let given = ProcessInfo.processInfo.environment["TRELLIS_TEST_PYTHON"] { return given }
        let run = try await tool("\(checkout)/.scripts/python-peers.sh")
        guard run.status == 0, let path = run.lines.last else { throw Failure("no Python for peers: \(run.errors)") }
        return path
    }

    /// The path of a script in Python: its name if that is one, or its place among the peers.
    static func script(_ name: String) -> String { name.contains("/") ? name : "\(peers)/\(name)" }

    /// The environment of this process without the proxies that it names. No Python writes beside its scripts.
    static let environment: [String: String] = {
        var variables = ProcessInfo.processInfo.environment
        for name in ["http", "https", "all", "no"] {
            variables["\(name)_proxy"] = nil
            variables["\(name.uppercased())_PROXY"] = nil
        }
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        variables["trellis"] = trellis
        return variables
    }()

    /// Whether the large cases of tests run, as they do with `Tests/run.sh --all`.
    static let isFull = environment["TRELLIS_TEST_ALL"] == "1"

    /// Whether a program can be found by its name. With `CI=true` each counts as found, so that no test is left out there.
    static func has(_ name: String) -> Bool {
        if environment["CI"] == "true" { return true }
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }
}

/// What a test cannot do without.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
