import Testing

@testable import Trellis

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
}
