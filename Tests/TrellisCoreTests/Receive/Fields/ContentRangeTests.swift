import HTTPTypes
import Testing

@testable import TrellisCore

/// The strict parser of `Content-Range`.
struct ContentRangeTests {
    @Test(arguments: [
        ("bytes 0-0/1", ContentRange.part(0..<1, total: 1)),
        ("bytes 5-9/10", .part(5..<10, total: 10)),
        ("BYTES 5-9/*", .part(5..<10, total: nil)),
        ("bytes 0-9223372036854775805/9223372036854775807", .part(0..<9_223_372_036_854_775_806, total: .max)),
        ("bytes */10", .unsatisfied(total: 10)),
        ("bytes */0", .unsatisfied(total: 0)),
    ])
    func accepted(_ text: String, _ range: ContentRange) { #expect(ContentRange(text) == range) }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 0-9", "0-9/10", "items 0-9/10", "bytes=0-9/10", "bytes  0-9/10", "bytes 0 -9/10",
        "bytes 0-9/10 ", " bytes 0-9/10", "bytes -9/10", "bytes 0-/10", "bytes 9-5/10", "bytes 0-10/10", "bytes 0-9/5",
        "bytes +0-9/10", "bytes 0-+9/10", "bytes 0x0-9/10", "bytes 0-9/", "bytes 0-9/10/10", "bytes 0-9-9/10",
        "bytes */*",
        "bytes */-1", "bytes 0-9/10, bytes 0-9/10", "bytes 0-9223372036854775807/*",
        "bytes 0-9/9223372036854775808", "bytes ٠-٩/١٠", "bytes 0,0-9/10",
    ])
    func refused(_ text: String) { #expect(ContentRange(text) == nil) }

    @Test(arguments: [
        (206, [], true), (206, ["bytes 0-9/10"], true), (206, ["items 0-4/10"], true),
        (200, ["bytes 5-9/10"], true), (200, ["bytes 0-4/10"], true), (203, ["BYTES 0-4/10"], true),
        (200, ["bytes 0-9/*"], true), (200, ["bytes=0-9/10"], true), (200, ["bytes"], true), (200, ["bytes 0-"], true),
        (200, ["bytes 0-9/10", "bytes 0-4/10"], true), (299, ["bytes */*"], true),
        (200, [], false), (200, ["bytes 0-9/10"], false), (200, ["bytes */10"], false), (200, ["items 0-4/10"], false),
        (200, ["0-4/10"], false), (200, ["bytesize 0-4/10"], false), (200, [""], false),
        (416, ["bytes */10"], false), (404, ["bytes 0-4/10"], false), (304, ["bytes 0-4/10"], false),
    ])
    func aResponseThatClaimsToBeAPart(_ status: Int, _ values: [String], _ isPart: Bool) {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .contentRange, value: value)) }
        #expect(ContentRange.claimsPart(status: status, fields) == isPart)
    }
}
