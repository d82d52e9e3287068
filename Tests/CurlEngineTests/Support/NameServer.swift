import Foundation
import Glibc

@testable import CurlEngine

/// The system call, which the module of the C library lacks.
@_silgen_name("unshare")
private func unshareOfTheSystem(_ flags: CInt) -> CInt

/// A DNS server that replies when the test wants it to: 127.0.0.1 for every name, or that the name does not exist.
final class NameServer: @unchecked Sendable {
    // Unchecked: `state` is only accessed inside the lock, and the constants never change.

    /// A query that was not answered yet.
    private struct Query {
        let bytes: [UInt8]
        let sender: sockaddr_in
        let name: String
    }

    private struct State {
        var held: [Query] = []
        var isReleased = false
        /// The names whose queries are answered at once: the query for the other kind of addresses may arrive after the release.
        var releasedNames: Set<String> = []
        /// The names of the queries for IPv4 addresses, in the order of their arrival.
        var names: [String] = []
        /// The largest number of names that were held at once.
        var peak = 0
    }

    /// The address on which the server listens: one of the process, because the port is the same for all.
    static let address = "127.5.\(getpid() >> 8 & 0x7f).\(getpid() & 0xff)"
    private let socket: CInt
    private let state = Locked(State())

    /// Whether a process can have a resolver configuration of its own here, which needs root.
    static let isAvailable = (try? run("unshare", "-m", "true")) != nil

    /// The flag `CLONE_NEWNS`.
    private static let newMountNamespace: CInt = 0x2_0000

    struct Failure: Error, CustomStringConvertible {
        let description: String

        /// - Parameter action: The action that failed, for which `errno` is set.
        init(of action: String) { description = "\(action): \(unsafe String(cString: strerror(errno)))" }

        init(_ description: String) { self.description = description }
    }

    init() throws {
        socket = Glibc.socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        guard unsafe inet_pton(AF_INET, Self.address, &address.sin_addr) == 1 else { throw Failure("no address") }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure(of: "bind \(Self.address)") }
        Thread.detachNewThread { [self] in while receive() {} }
    }

    /// Makes the calling thread, and the threads that it starts, ask this server only.
    static func use() throws {
        guard unshareOfTheSystem(Self.newMountNamespace) == 0 else { throw Failure(of: "unshare") }
        let file = FileManager.default.temporaryDirectory.appending(path: "resolv-\(getpid())").path
        try Data("nameserver \(address)\noptions timeout:60 attempts:1\n".utf8).write(to: URL(filePath: file))
        try run("mount", "--make-rprivate", "/")
        try run("mount", "--bind", file, "/etc/resolv.conf")
    }

    /// The names of the lookups so far. A lookup asks for both kinds of addresses, and counts once.
    var names: [String] { state.withLock { $0.names } }

    /// The largest number of names that waited for an answer at once.
    var peak: Int { state.withLock { $0.peak } }

    /// Waits until `count` lookups were received.
    func untilAsked(_ count: Int) async { while names.count < count, !Task.isCancelled { await Task.yield() } }

    /// Answers the queries so far and all later ones.
    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isReleased = true
            return state.held
        }
        for query in held { answer(query) }
    }

    /// Answers the queries so far. Later ones wait.
    func releaseHeld() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.releasedNames.formUnion(state.held.map(\.name))
            return state.held
        }
        for query in held { answer(query) }
    }

    private func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 512)
        var sender = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = unsafe withUnsafeMutablePointer(to: &sender) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe recvfrom(socket, &buffer, buffer.count, 0, $0, &length)
            }
        }
        guard count > 12 else { return false }
        let bytes = Array(buffer[..<count])
        let query = Query(bytes: bytes, sender: sender, name: Self.name(in: bytes))
        let isReleased = state.withLock { state in
            if Self.type(of: bytes) == 1 { state.names.append(query.name) }
            let isReleased = state.isReleased || state.releasedNames.contains(query.name)
            if !isReleased {
                state.held.append(query)
                state.peak = max(state.peak, Set(state.held.map(\.name)).count)
            }
            return isReleased
        }
        if isReleased { answer(query) }
        return true
    }

    private func answer(_ query: Query) {
        let isMissing = query.name.hasPrefix("missing")
        let hasAddress = !isMissing && Self.type(of: query.bytes) == 1
        let end = Self.endOfQuestion(in: query.bytes)
        var reply = Array(query.bytes[..<2]) + [0x81, isMissing ? 0x83 : 0x80, 0, 1, 0, hasAddress ? 1 : 0, 0, 0, 0, 0]
        reply += query.bytes[12..<end]
        if hasAddress { reply += [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1] }
        var sender = query.sender
        _ = unsafe withUnsafePointer(to: &sender) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sendto(socket, reply, reply.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func name(in bytes: [UInt8]) -> String {
        var (labels, index) = ([String](), 12)
        while index < bytes.count, bytes[index] != 0 {
            let end = min(index + 1 + Int(bytes[index]), bytes.count)
            labels.append(String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
            index = end
        }
        return labels.joined(separator: ".")
    }

    private static func endOfQuestion(in bytes: [UInt8]) -> Int {
        min((bytes[12...].firstIndex(of: 0) ?? bytes.count) + 5, bytes.count)
    }

    private static func type(of bytes: [UInt8]) -> UInt8 { bytes[endOfQuestion(in: bytes) - 3] }

    private static func run(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure("\(arguments): exit status \(process.terminationStatus)")
        }
    }
}
