import Foundation

@testable import TrellisTesting

/// A new folder for the cassettes of a test, which is removed with the value.
final class CassetteTestFolder: Sendable {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "trellis-cassettes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Returns a cassette in the folder.
    ///
    /// - Parameter filePath: The path of the test's source file.
    func cassette(_ mode: CassetteMode, filePath: String = #filePath) -> Cassette {
        Cassette(path: path(), mode: mode, filePath: filePath)
    }

    /// Returns the path of a cassette.
    func path(_ name: String = "test") -> String { url.appending(path: "\(name).har").path }

    /// The names of the files, in order.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

    /// Returns the text of a cassette.
    func text(_ name: String = "test") throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    /// Writes the text of a cassette.
    func write(_ text: String, to name: String = "test") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }
}
