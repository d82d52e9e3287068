#if Configuration
import Foundation
import Testing
import TrellisConfiguration

/// The page about settings has the same table as the code.
struct SettingsPageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the row of a setting.
    private static func row(_ setting: SessionSetting) -> String {
        let meaning = setting.isSecret ? setting.meaning + " 🔒" : setting.meaning
        return
            "| `\(setting.key)` | \(setting.type.rawValue) | \(setting.unit) | \(setting.defaultValue) | \(meaning) |"
    }

    @Test func theTableIsThatOfTheCode() throws {
        let file = Self.root.appending(
            path: "Sources/TrellisConfiguration/TrellisConfiguration.docc/Settings.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let lines = page.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex(of: "| key | type | unit or words | default | meaning |"))
        let rows = lines[(start + 2)...].prefix { $0.hasPrefix("|") }
        let expected = SessionSetting.all.map(Self.row)
        #expect(Array(rows) == expected, "\n\(expected.joined(separator: "\n"))")
    }
}
#endif
