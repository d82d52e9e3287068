import Foundation

/// The file that the fixture server serves at `/ranges/SIZE/FATE`. It counts requests by path: each test has its own size.
enum RangedFile {
    static func bytes(_ size: Int) -> Data { Data((0..<size).map { UInt8($0 * 7 % 251) }) }
}

extension RunningProgram {
    /// Waits until a number of downloads into a folder have a part with bytes in it.
    func downloads(_ count: Int, into folder: TemporaryFolder) async throws {
        try await wait(until: "has downloaded \(count) parts") { _ in
            try folder.names().count { name in
                guard name.hasSuffix("-part") else { return false }
                let attributes = try? FileManager.default.attributesOfItem(atPath: folder[name])
                return (attributes?[.size] as? Int ?? 0) > 0
            } == count
        }
    }
}
