import Foundation
import Testing

@testable import CurlEngine

/// Checksums of bytes that arrive in parts.
struct RunningChecksumTests {
    /// The parts have the checksum of all bytes, wherever the bytes are cut.
    @Test(arguments: [0, 1, 3, 8, 31, 32, 33, 63, 64, 100, 1000])
    func partsHaveTheChecksumOfTheWhole(_ count: Int) {
        let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let whole = Checksum64.of(bytes.bytes, seed: 5)
        for size in 1...max(count, 1) {
            var checksum = RunningChecksum64(seed: 5)
            for start in stride(from: 0, to: count, by: size) {
                let part = bytes[start..<min(start + size, count)]
                checksum.add(part.bytes)
                // The value may be asked for at any time.
                let expected = Checksum64.of(bytes[..<part.endIndex].bytes, seed: 5)
                #expect(checksum.value == expected)
            }
            #expect(checksum.value == whole)
        }
    }
}
