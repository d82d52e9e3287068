import Foundation
import Testing
import TrellisCore
import TrellisDiagnostics

/// The timings of entries that other programs have written.
struct HARTimingsTests {
    @Test(arguments: [
        #"{"send": 1, "wait": 2, "receive": 3}"#,
        #"{"send": 1, "wait": 2, "receive": 3, "blocked": null, "ssl": -1, "_queued": 4}"#,
    ])
    func optionalTimingsMayBeMissing(_ text: String) throws {
        let timings = try JSONDecoder().decode(HARDocument.Timings.self, from: Data(text.utf8))
        #expect(timings.blocked == -1 && timings.dns == -1 && timings.connect == -1 && timings.ssl == -1)
        #expect(timings.send == 1 && timings.wait == 2 && timings.receive == 3 && timings.sum == 6)
    }

    @Test func theOthersMayNot() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(HARDocument.Timings.self, from: Data(#"{"send": 1, "wait": 2}"#.utf8))
        }
    }
}
